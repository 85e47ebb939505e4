"""Runs graphs on LangGraph's own Postgres saver, and prints the states of their threads as JSON.

With "answered" behind the address, the questions of the threads are answered there, too.
"""

import asyncio
import json
import sys
from typing import Any

from graphs.asking import approval, outer
from graphs.listing import edits
from graphs.tallying import tallies
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.types import Command

WAITS = "4f0c1d1e-7f3b-4d53-9d0b-3f3f2a1c9a01"
OVER = "4f0c1d1e-7f3b-4d53-9d0b-3f3f2a1c9a02"
EDITED = "4f0c1d1e-7f3b-4d53-9d0b-3f3f2a1c9a03"
STOPPED = "4f0c1d1e-7f3b-4d53-9d0b-3f3f2a1c9a04"
TALLIED = "4f0c1d1e-7f3b-4d53-9d0b-3f3f2a1c9a05"
NAMED = "customer 42"

GRAPHS = {WAITS: approval, OVER: approval, EDITED: edits, STOPPED: approval, TALLIED: tallies, NAMED: outer}
# Threads whose checkpoints name their graph.
THEIR_OWN = {EDITED: "edits", TALLIED: "tallies"}
CHANGES = ["append", "append", "change", "append", "remove", "append", "replace", "append"]


def config_of(thread_id: str) -> Any:
    config: dict[str, Any] = {"configurable": {"thread_id": thread_id}}
    if thread_id in THEIR_OWN:
        config["metadata"] = {"graph_id": THEIR_OWN[thread_id]}
    return config


def graph_of(thread_id: str, saver: AsyncPostgresSaver) -> Any:
    return GRAPHS[thread_id].copy(update={"checkpointer": saver})


def plain(value: Any) -> Any:
    return value.model_dump()


async def state_of(thread_id: str, saver: AsyncPostgresSaver) -> Any:
    graph, config = graph_of(thread_id, saver), config_of(thread_id)
    state = await graph.aget_state(config)
    history = [one.values async for one in graph.aget_state_history(config)]
    interrupts = [{"id": one.id, "value": one.value} for one in state.interrupts]
    return {"values": state.values, "next": list(state.next), "interrupts": interrupts, "history": history}


async def fill(saver: AsyncPostgresSaver) -> None:
    await saver.setup()
    for thread_id in (WAITS, OVER, NAMED):
        await graph_of(thread_id, saver).ainvoke({"draft": f"Draft of {thread_id}: \u00e9\U0001f600"}, config_of(thread_id))
    await graph_of(STOPPED, saver).ainvoke({"draft": "Stopped"}, config_of(STOPPED), interrupt_before=["approve"])
    await graph_of(OVER, saver).ainvoke(Command(resume=2.5), config_of(OVER))
    for at, does in enumerate(CHANGES):
        await graph_of(EDITED, saver).ainvoke({"does": does, "at": at}, config_of(EDITED))
    for at in range(8):
        await graph_of(TALLIED, saver).ainvoke({"marks": [f"in {at}"]}, config_of(TALLIED))


async def main(uri: str, *answered: str) -> None:
    async with AsyncPostgresSaver.from_conn_string(uri) as saver:
        await fill(saver)
        for thread_id in (WAITS, NAMED) if answered else ():
            await graph_of(thread_id, saver).ainvoke(Command(resume="yes"), config_of(thread_id))
        states = {thread_id: await state_of(thread_id, saver) for thread_id in GRAPHS}
    print(json.dumps(states, default=plain))


asyncio.run(main(*sys.argv[1:]))
