"""The stop of a run under way: as soon as it can, or between two of its steps."""

from __future__ import annotations

from typing import Any

from gx_runner.graphs.compat import build_run_control, is_drained


class Stop:
    """The stop of one run, as the run sees it."""

    def __init__(self) -> None:
        self.asked = False
        self.goes_on = False
        self._drains = False

    def drain(self) -> None:
        """Has the run stop between two steps."""
        self._drains = True

    def is_drained_by(self, error: BaseException) -> bool:
        """Returns whether the graph stopped because `drain` asked for that. One that has asked itself has failed."""
        return self._drains and not self.asked and is_drained(error)

    def build_drain_control(self, graph: Any) -> dict[str, Any]:
        """Returns the keyword by which a call of the graph stops where `drain` asks for it.

        It is empty for a graph that knows no such stop, as those of older versions of LangGraph: it runs on.
        """
        return build_run_control(graph, lambda: self._drains)
