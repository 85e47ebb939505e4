"""Graphs that ask, themselves or within a subgraph."""

from typing import Any

from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict


class Draft(TypedDict, total=False):
    draft: str
    approved: Any
    published: bool


def approve(state: Draft) -> Draft:
    return {"approved": interrupt({"question": "Is it good?", "draft": state.get("draft")})}


async def publish(state: Draft) -> Draft:
    return {"published": bool(state["approved"])}


approval = (
    StateGraph(Draft)
    .add_node("approve", approve)
    .add_node("publish", publish)
    .add_edge(START, "approve")
    .add_edge("approve", "publish")
    .compile()
)

outer = StateGraph(Draft).add_node("inner", approval).add_edge(START, "inner").compile()
