"""Is a runner without graphs: it plays LangGraph's suite for checkpointers against the storage of its server.

The report goes to the file that CONFORMANCE_REPORT names.
"""

import asyncio
import json
import os
import socket
import threading
from typing import Any

from gx_runner.checkpoints.remembered import Lists
from gx_runner.checkpoints.saver import Saver, Storage
from gx_runner.checkpoints.serializer import build_serializer
from gx_runner.wall.wire import VERSION, Message, Wall
from langgraph.checkpoint.conformance import checkpointer_test, validate

storage = Storage(build_serializer(None), Lists())
wall = Wall(socket.socket(fileno=3))


@checkpointer_test(name="gx")
async def saver() -> Any:
    yield Saver(wall, storage)


def play() -> None:
    report = asyncio.run(validate(saver))
    results = {name: {"passed": one.tests_passed, "failures": one.failures} for name, one in report.results.items()}
    place = os.environ["CONFORMANCE_REPORT"]
    with open(f"{place}.part", "w") as file:
        json.dump(results, file)
    os.rename(f"{place}.part", place)


def hear(message: Message, blobs: bytes) -> None:
    if message["kind"] == "start":
        nodes = {graph["graphId"]: None for graph in message["start"]["graphs"]}
        wall.send({"kind": "ready", "version": VERSION, "nodes": nodes})
        wall.start_beats(lambda: 0.0)
        threading.Thread(target=play, daemon=True).start()
    elif "ask_id" in message:
        wall.handle_answer(message, blobs)


wall.read(hear)
