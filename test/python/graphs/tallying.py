"""A graph whose list LangGraph itself stores as what each step adds to it, and whole at times."""

from collections.abc import Sequence
from typing import Annotated

from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict


def joined(marks: list[str], more: Sequence[list[str]]) -> list[str]:
    return [*marks, *(mark for one in more for mark in one)]


try:
    from langgraph.channels.delta import DeltaChannel
except ImportError:
    # Before 1.2 the whole list is stored.
    Marks = Annotated[list[str], lambda marks, more: joined(marks, [more])]
else:
    Marks = Annotated[list[str], DeltaChannel(joined, snapshot_frequency=3)]


class Tally(TypedDict, total=False):
    marks: Marks


async def mark(state: Tally) -> Tally:
    return {"marks": [f"{len(state.get('marks', []))} before"]}


tallies = StateGraph(Tally).add_node("mark", mark).add_edge(START, "mark").compile()
