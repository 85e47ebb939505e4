"""Streams of runs by both clients, in each mode."""

from collections import Counter
from typing import Any

from langgraph_sdk import get_client, get_sync_client

from clients import ASKING, QUESTION, case

MODES = ["values", "updates", "messages", "messages-tuple", "custom", "events", "tasks", "checkpoints", "debug"]


def _shown(part: Any) -> str:
    """Returns the event's name, without the ids of its namespace."""
    return "|".join(place.split(":")[0] for place in part.event.split("|"))


@case
async def modes(url: str) -> Any:
    """Returns the events of each mode alone."""
    heard = {}
    async with get_client(url=url) as client:
        for mode in MODES:
            parts = [part async for part in client.runs.stream(None, "agent", input=ASKING, stream_mode=mode)]
            heard[mode] = dict(Counter(_shown(part) for part in parts))
    return heard


@case
async def modes_at_once(url: str) -> Any:
    """Returns the events of all modes but that of tuples, which has one of the same name, with those of subgraphs."""
    async with get_client(url=url) as client:
        asked = [mode for mode in MODES if mode not in ("messages", "events")]
        given: Any = {"input": QUESTION, "stream_mode": asked, "stream_subgraphs": True}
        parts = [part async for part in client.runs.stream(None, "deep_agent", **given)]
    return sorted({_shown(part) for part in parts})


@case
async def tokens(url: str) -> Any:
    async with get_client(url=url) as client:
        stream = client.runs.stream(None, "agent", input=ASKING, stream_mode="messages-tuple")
        pairs = [part.data async for part in stream if part.event == "messages"]
    own = [message["content"] for message, metadata in pairs if metadata["langgraph_node"] == "stream_message"]
    return {"tokens": own, "kinds": sorted({message["type"] for message, _ in pairs})}


@case
async def typed_parts(url: str) -> Any:
    """Returns the parts of the client's own newer form."""
    async with get_client(url=url) as client:
        given: Any = {"input": ASKING, "stream_mode": ["values", "updates"], "version": "v2"}
        parts = [part async for part in client.runs.stream(None, "agent", **given)]
    asked = [one["value"] for part in parts if part["type"] == "values" for one in part["interrupts"]]
    return {"types": sorted({part["type"] for part in parts}), "asked": asked}


@case
async def joined(url: str) -> Any:
    """Leaves a stream that can be resumed, and joins it where it was left."""
    async with get_client(url=url) as client:
        thread_id = (await client.threads.create())["thread_id"]
        given: Any = {"input": {"to": 6, "pause": 0.1}, "stream_mode": "values", "stream_resumable": True}
        first, last_id, run_id = [], None, None
        async for part in client.runs.stream(thread_id, "counter", **given, on_disconnect="continue"):
            if part.event == "metadata":
                run_id = part.data["run_id"]
            elif part.data.get("done"):
                first.append(part.data["done"])
                last_id = part.id
            if len(first) == 2:
                break
        rest = client.runs.join_stream(thread_id, str(run_id), stream_mode="values", last_event_id=last_id)
        return {"first": first, "rest": [part.data["done"] async for part in rest if part.event == "values"]}


@case
async def stopped(url: str) -> Any:
    async with get_client(url=url) as client:
        thread_id = (await client.threads.create())["thread_id"]
        run = await client.runs.create(thread_id, "slow", input={"question": "q"})
        await client.runs.cancel(thread_id, run["run_id"], wait=True)
        return (await client.runs.get(thread_id, run["run_id"]))["status"]


@case
def plain_streams(url: str) -> Any:
    with get_sync_client(url=url) as client:
        thread_id = client.threads.create()["thread_id"]
        parts = list(client.runs.stream(thread_id, "agent", input=ASKING, stream_mode=["updates", "custom"]))
        answered = client.runs.wait(thread_id, "agent", command={"resume": "yes"})
        waiting = [part.data["__interrupt__"][0]["value"] for part in parts if "__interrupt__" in (part.data or {})]
        return {"events": dict(Counter(part.event for part in parts)), "asked": waiting, "items": answered["items"]}
