"""Asks its own server: records, the stream of another run, and something that is refused."""

from typing import Any

import httpx
from langgraph.graph import END, START, StateGraph
from langgraph_sdk import get_client
from typing_extensions import TypedDict

client = get_client()


class State(TypedDict, total=False):
    asked: Any


async def ask(_: State) -> State:
    thread_id = (await client.threads.create(metadata={"by": "the graph"}))["thread_id"]
    stream = client.runs.stream(thread_id, "steps", input={"left": 3}, stream_mode="custom")
    seen = [part.data async for part in stream if part.event == "custom"]
    try:
        refused = str(await client.threads.get("no-id"))
    except httpx.HTTPStatusError as error:
        refused = f"{error.response.status_code}: {error}"
    return {"asked": {"thread_id": thread_id, "seen": seen, "refused": refused}}


graph = StateGraph(State).add_node("ask", ask).add_edge(START, "ask").add_edge("ask", END)
