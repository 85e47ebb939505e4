"""Runs the graphs of this folder with LangGraph's own saver, and prints as JSON what each of them has found."""

import asyncio
import json
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from shapes import graphs

EDITED = {"turn": 7, "model": {"name": "edited"}}


async def found_by(name: str) -> Any:
    """Asks it twice, with an edit between, and goes back to its first question. The test does the same to a server."""
    graph = getattr(graphs, name)
    if name == "made":
        graph = (await graph({})).compile()
    graph.checkpointer = InMemorySaver()
    thread: Any = {"configurable": {"thread_id": "1"}, "recursion_limit": 50}
    await graph.ainvoke({"log": []}, thread)
    asked = (await graph.aget_state(thread)).config
    await answer(graph, thread)
    if name in ("typed", "untyped", "data", "model", "configured", "made"):
        await graph.aupdate_state(thread, EDITED)
    await graph.ainvoke({"log": []}, thread)
    twice = (await answer(graph, thread))["log"]
    back = (await answer(graph, {**thread, **asked}))["log"]
    return {"twice": twice, "back": back}


async def answer(graph: Any, config: Any) -> Any:
    state = await graph.aget_state(config)
    return await graph.ainvoke(Command(resume={one.id: "yes" for one in state.interrupts}), config)


NAMES = ["typed", "untyped", "data", "model", "configured", "made", "nested", "deep", "calls", "sends", "remembers"]


async def main() -> None:
    found = {name: await found_by(name) for name in NAMES}
    print(json.dumps({"found": found}))


asyncio.run(main())
