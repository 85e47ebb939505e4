"""The Python twin of keeps.ts: passes what it is given through every place in which a graph can leave it."""

import os
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.config import get_store, get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt


class State(MessagesState, total=False):
    note: str
    bytes: bytes
    left: int
    asks: bool
    fails: bool
    answer: str
    key: str


async def keep(state: State) -> dict[str, Any]:
    note = state.get("note")
    get_stream_writer()({"note": note})
    await get_store().aput(("notes",), "of-graph", {"note": note})
    key = os.environ.get("GX_AES_KEY", "not seen")
    return {"messages": [AIMessage(f"noted: {note}")], "bytes": str(note).encode(), "key": key}


async def ask(state: State) -> dict[str, Any]:
    if not state.get("asks"):
        return {}
    return {"answer": interrupt({"question": f"May I keep {state.get('note')}?"})}


async def count(state: State) -> dict[str, Any]:
    if state.get("fails"):
        raise RuntimeError(f"can't keep {state.get('note')}")
    return {"left": state.get("left", 0) - 1}


graph = (
    StateGraph(State)
    .add_node("keep", keep)
    .add_node("ask", ask)
    .add_node("count", count)
    .add_edge(START, "keep")
    .add_edge("keep", "ask")
    .add_edge("ask", "count")
    .add_conditional_edges("count", lambda state: "count" if state.get("left", 0) > 0 else END, ["count", END])
    .compile()
)
