"""``passthrough``: everything is content."""

from __future__ import annotations

from orchestrator.parsers.scripted import Script, ScriptedParser


class PassthroughParser(ScriptedParser):
    """For models that write neither thoughts nor calls."""

    def script(self) -> Script[None]:
        yield self.all_content()
