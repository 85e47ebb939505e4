"""Graphs that ask other services, at `url`, and their own server. Each request has a path of its own."""

import asyncio
from typing import Any

import httpx
import requests
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph_sdk import get_client
from typing_extensions import TypedDict


class State(TypedDict):
    url: str


async def post(address: str, headers: dict[str, str] | None = None) -> int:
    async with httpx.AsyncClient() as client:
        return (await client.post(address, content="{}", headers=headers)).status_code


@tool
async def look(url: str) -> int:
    """Looks something up."""
    return await post(f"{url}/tool")


async def ask_once(state: State) -> dict[str, Any]:
    await post(f"{state['url']}/leaf")
    return {}


leaf = StateGraph(State).add_node("asks", ask_once).add_edge(START, "asks").compile()


async def ask(state: State) -> dict[str, Any]:
    url = state["url"]
    await post(f"{url}/node")
    await post(
        f"{url}/own",
        {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
    )
    await look.ainvoke({"url": url})
    await asyncio.to_thread(requests.post, f"{url}/other", data="{}", timeout=10)
    return {}


async def delegate(state: State) -> dict[str, Any]:
    await get_client().runs.wait(None, "leaf", input={"url": state["url"]})
    return {}


calls = (
    StateGraph(State)
    .add_node("asks", ask)
    .add_node("delegates", delegate)
    .add_edge(START, "asks")
    .add_edge("asks", "delegates")
    .compile()
)
