from __future__ import annotations

from difflib import unified_diff
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.llama_cpp.errors import BrokenPatch
from orchestrator.llama_cpp.patches import apply_all, parse

OLD = "".join(f"line {n}\n" for n in range(1, 41))


def diff(old: str, new: str, name: str = "src/a.cpp", *, made: bool = False) -> str:
    source = "/dev/null" if made else f"a/{name}"
    return "".join(unified_diff(old.splitlines(True), new.splitlines(True), source, f"b/{name}"))


class Tree:
    def __init__(self, root: Path) -> None:
        self.root = root / "tree"
        (self.root / "src").mkdir(parents=True)
        self.file = self.root / "src/a.cpp"
        self.file.write_text(OLD)
        self.patch = root / "0001-a.patch"

    def apply(self, text: str) -> tuple[str, ...]:
        self.patch.write_text(text)
        return apply_all(self.root, [self.patch])


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


NEW = OLD.replace("line 3\n", "line three\n").replace("line 30\n", "").replace("line 35\n", "line 35\nmore\n")


def test_a_patch_is_applied_once(tree: Tree) -> None:
    assert tree.apply(diff(OLD, NEW)) == ("0001-a.patch",)
    assert tree.file.read_text() == NEW
    assert tree.apply(diff(OLD, NEW)) == ()
    assert tree.file.read_text() == NEW


def test_hunks_are_found_where_they_have_moved_to(tree: Tree) -> None:
    tree.file.write_text(f"new\nlines\n{OLD}")
    tree.apply(diff(OLD, NEW))
    assert tree.file.read_text() == f"new\nlines\n{NEW}"


def test_files_are_made(tree: Tree) -> None:
    text = diff("", "one\ntwo\n", "src/new/b.cpp", made=True)
    assert tree.apply(text) == ("0001-a.patch",)
    assert (tree.root / "src/new/b.cpp").read_text() == "one\ntwo\n"
    assert tree.apply(text) == ()
    (tree.root / "src/new/b.cpp").write_text("other\n")
    with pytest.raises(BrokenPatch, match=r"src/new/b\.cpp is to be made, and there is one already"):
        tree.apply(text)


def test_a_hunk_that_does_not_fit_is_named_and_nothing_is_written(tree: Tree) -> None:
    two_files = diff("x\n", "y\n", "src/b.cpp") + diff(OLD, NEW)
    (tree.root / "src/b.cpp").write_text("x\n")
    broken = OLD.replace("line 31\n", "line thirty-one\n")
    tree.file.write_text(broken)
    with pytest.raises(BrokenPatch) as caught:
        tree.apply(two_files)
    assert str(caught.value).startswith("0001-a.patch does not apply: src/a.cpp, hunk 2 of 2 (@@ -27,")
    assert caught.value.hint
    assert tree.file.read_text() == broken
    assert (tree.root / "src/b.cpp").read_text() == "x\n"


def test_a_patch_of_a_file_that_is_gone_does_not_apply(tree: Tree) -> None:
    tree.file.unlink()
    with pytest.raises(BrokenPatch, match=r"does not apply: there is no src/a\.cpp$"):
        tree.apply(diff(OLD, NEW))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "not a whole unified diff"),
        (diff(OLD, NEW)[:-40], "not a whole unified diff"),
        ("@@ -1 +1 @@\n-a\n+b\n", "stands before the name of its file"),
        ("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "not removed"),
        (diff("a\n", "b\n", "../../x"), "not removed"),
    ],
)
def test_what_is_no_patch_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(BrokenPatch, match=complaint):
        parse(text, "p")


@given(
    st.lists(st.sampled_from(("keep", "drop", "change", "add")), min_size=1, max_size=40).filter(
        lambda deeds: set(deeds) != {"keep"}
    ),
    st.integers(1, 3),
)
def test_any_change_of_lines_that_differ_is_applied_and_recognised(
    tmp_path_factory: pytest.TempPathFactory, deeds: list[str], context: int
) -> None:
    old = "".join(f"line {n}\n" for n in range(len(deeds)))
    made = {"keep": "line {0}\n", "drop": "", "change": "LINE {0}\n", "add": "line {0}\nmore {0}\n"}
    new = "".join(made[deed].format(n) for n, deed in enumerate(deeds))
    root = tmp_path_factory.mktemp("tree")
    (root / "f").write_text(old)
    patch = root / "p.patch"
    patch.write_text(
        "".join(unified_diff(old.splitlines(True), new.splitlines(True), "a/f", "b/f", n=context))
    )
    if new:
        assert apply_all(root, [patch]) == ("p.patch",)
    assert (root / "f").read_text() == (new or old)
    assert not new or apply_all(root, [patch]) == ()
