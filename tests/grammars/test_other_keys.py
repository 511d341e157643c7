from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.grammars.gbnf import RuleBook
from orchestrator.grammars.other_keys import other_keys
from tests.grammars.gbnf import Gbnf

NAMES = st.text('ab"\\é', max_size=4)


@given(st.lists(NAMES, max_size=5), NAMES)
def test_any_key_but_the_names_is_accepted(names: list[str], key: str) -> None:
    book = RuleBook()
    root = book.reserve("root")
    book.define(root, other_keys(book, names))
    is_plain = not set(key) & {'"', "\\"}
    assert Gbnf(book.text()).accepts(json.dumps(key, ensure_ascii=False)) == (is_plain and key not in names)
