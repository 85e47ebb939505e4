"""The Python twin of fails.ts: takes small numbers, and fails in its own code on larger ones."""

from collections.abc import AsyncIterator
from typing import Annotated, Any, NoReturn

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from typing_extensions import TypedDict


def _given(_: int, given: int) -> int:
    if given > 10:
        raise TypeError("the reducer is broken")
    return given


class State(TypedDict, total=False):
    count: Annotated[int, _given]


graph = StateGraph(State).add_node("step", lambda _: {"count": 1}).add_edge(START, "step").add_edge("step", END).compile()


class _Idle(CompiledStateGraph[Any, Any, Any, Any]):
    """Has a node, and sends and stores nothing, as graphs of a LangGraph that a server does not know do."""

    async def astream(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        for nothing in ():
            yield nothing


idle = StateGraph(State).add_node("step", lambda _: {"count": 1}).add_edge(START, "step").compile()
idle.__class__ = _Idle


class RangeError(Exception):
    """Bears the name of the other twin's error."""


def _cook(_: State) -> NoReturn:
    try:
        raise RuntimeError("no gas")
    except RuntimeError as error:
        raise RangeError("the stove is off") from error


throws = StateGraph(State).add_node("cook", _cook).add_edge(START, "cook").compile()


class Error(Exception):
    """Can not be told."""

    def __str__(self) -> NoReturn:
        raise ValueError("do not touch")

    __repr__ = __str__


def unmade() -> NoReturn:
    """Fails to make its graph."""
    raise RangeError("no graph today")


def hostile() -> NoReturn:
    """Raises what nobody may look at."""
    raise Error
