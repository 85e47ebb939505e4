"""Graphs that use the routes of their own server, with clients that name no address."""

from typing import Any

import httpx
from langgraph.graph import START, StateGraph
from langgraph_sdk import get_client, get_sync_client
from typing_extensions import TypedDict


class Calls(TypedDict, total=False):
    kind: str
    made: Any


# It is made while the module is loaded, before the server serves anything.
client = get_client()


async def start_another(state: Calls) -> Calls:
    """Finds a thread and has another graph run on it, whose events come while it runs."""
    [found] = await client.threads.search(metadata={"kind": state["kind"]})
    thread_id = found["thread_id"]
    events, meanwhile = [], None
    given = {"to": 4, "pause": 0.2}
    async for part in client.runs.stream(thread_id, "counter", input=given, stream_mode="updates"):
        events.append(part.event)
        meanwhile = meanwhile or (await client.threads.get(thread_id))["status"]
    created = await client.runs.create(thread_id, "echo", input={"question": "q"})
    answer = await client.runs.join(thread_id, created["run_id"])
    return {"made": {"events": events, "meanwhile": meanwhile, "answer": answer}}


calls = StateGraph(Calls).add_node("start_another", start_another).add_edge(START, "start_another").compile()


def search(state: Calls) -> Calls:
    """Does so in a thread of its own, as a plain function."""
    with get_sync_client() as own:
        found = own.threads.search(metadata={"kind": state["kind"]})
        text = state["kind"] * 20_000
        own.store.put_item(["calls"], key="long", value={"text": text})
        item = own.store.get_item(["calls"], key="long")
    return {"made": {"threads": [thread["thread_id"] for thread in found], "same": item["value"]["text"] == text}}


calls_plainly = StateGraph(Calls).add_node("search", search).add_edge(START, "search").compile()


async def fail_to_call(state: Calls) -> Calls:
    """Asks for a thread that is not there, leaves a request early, and imports modules that are not there."""
    made: dict[str, Any] = {}
    own = get_client(timeout=1.5)
    try:
        await own.threads.get("00000000-0000-0000-0000-000000000000")
    except httpx.HTTPStatusError as error:
        made["status"] = error.response.status_code
    try:
        await own.http.client.post("/runs/wait", json={"assistant_id": "slow", "input": {"question": "q"}})
    except httpx.ReadTimeout as error:
        made["late"] = str(error)
    try:
        import langgraph_api.grpc  # noqa: F401
    except ImportError as error:
        made["module"] = str(error)
    from langgraph_sdk import cache  # noqa: F401

    made["threads"] = len(await own.threads.search(metadata={"kind": state["kind"]}))
    return {"made": made}


fails_to_call = StateGraph(Calls).add_node("fail_to_call", fail_to_call).add_edge(START, "fail_to_call").compile()
