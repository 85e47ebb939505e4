"""Graphs whose transformers change their events, which LangGraph has since 1.2."""

from collections.abc import Callable
from typing import Any

from langgraph.graph import START, StateGraph
from langgraph.stream import StreamChannel, StreamTransformer

from graphs.reporting import Note


class Steps(StreamTransformer):
    """Counts the states in a channel of its own, and holds all updates back."""

    def init(self) -> dict[str, Any]:
        self._steps: StreamChannel[int] = StreamChannel("steps")
        self._count = 0
        return {"steps": self._steps}

    def process(self, event: Any) -> bool:
        if event["method"] == "values" and not self.scope:
            self._count += 1
            self._steps.push(self._count)
        return event["method"] != "updates"


class Broken(StreamTransformer):
    """Fails when the graph has ended, or at its first event."""

    at_first = False

    def init(self) -> dict[str, Any]:
        return {}

    def process(self, event: Any) -> bool:
        if self.at_first:
            raise ValueError("The transformer is broken.")
        return True

    def finalize(self) -> None:
        raise ValueError("The transformer is broken at its end.")


class BrokenAtFirst(Broken):
    at_first = True


def _noting(transformer: Callable[..., Any]) -> Any:
    builder = StateGraph(Note).add_node("note", lambda _: {"note": "ran"}).add_edge(START, "note")
    return builder.compile(transformers=[transformer])


transformed, unkept, breaking = _noting(Steps), _noting(Broken), _noting(BrokenAtFirst)
