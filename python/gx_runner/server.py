"""The loop of the graphs, in a thread of its own, and what it does with the messages of the server."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from gx_runner import describe
from gx_runner.encode import to_json
from gx_runner.exchange import Exchanges
from gx_runner.failures import ProblemError, refusal_of
from gx_runner.loading import LoadError, load_graphs
from gx_runner.logs import serve_logs
from gx_runner.loopback import offer_loopback
from gx_runner.remembered import Lists
from gx_runner.runs import Runs
from gx_runner.saver import Storage
from gx_runner.serializer import serializer_of
from gx_runner.state import States
from gx_runner.store import Store
from gx_runner.wire import VERSION, Message, Wall

# Nodes that are plain functions run in threads. So many of them can wait for something at a time.
_THREADS = 40
_WRITES = ("update", "supersteps")
_log = logging.getLogger("gx_runner")

Answering = Callable[[dict[str, Any]], Awaitable[Any]]


class Server:
    """The graphs' side of the wall."""

    def __init__(self, wall: Wall, exchanges: Exchanges) -> None:
        self._wall = wall
        self._exchanges = exchanges
        self._loop = asyncio.new_event_loop()
        self._runs: Runs | None = None
        self._answers: dict[str, Answering] = {}
        self._asked_at: float | None = None
        self._calls: set[asyncio.Task[None]] = set()

    def start(self, settings: dict[str, Any]) -> None:
        """Loads the graphs and serves them, in a thread of its own."""
        threading.Thread(target=self._serve, args=(settings,), name="gx-graphs", daemon=True).start()

    def hear(self, message: Message) -> None:
        """Hands a message to the loop of the graphs."""
        self._loop.call_soon_threadsafe(self._heard, message)

    def _serve(self, settings: dict[str, Any]) -> None:
        serve_logs(self._wall, settings["logLevel"])
        offer_loopback(self._exchanges)
        try:
            # No loop runs meanwhile, so that a module may run one of its own.
            graphs, failures = load_graphs(settings["graphs"], partial=settings["partial"])
            storage = Storage(serializer_of(settings.get("serde")), Lists())
        except LoadError as error:
            self._wall.send({"kind": "broken", "sentence": str(error)})
            return
        if settings["traced"]:
            _log.warning("Python graphs send no spans: their steps are missing in the traces.")
        store = Store(self._wall)
        states = States(self._wall, graphs, store, storage)
        self._runs = Runs(self._wall, graphs, store, storage)
        self._answers = _answers(states)
        self._loop.set_default_executor(ThreadPoolExecutor(_THREADS, thread_name_prefix="gx-node"))
        asyncio.set_event_loop(self._loop)
        ready = {"kind": "ready", "version": VERSION, "nodes": {graph_id: one.nodes for graph_id, one in graphs.items()}}
        self._wall.send({**ready, "failures": failures} if settings["partial"] else ready)
        self._wall.live(self._late)
        self._run_forever()

    def _run_forever(self) -> None:
        """Runs the loop. A graph that calls sys.exit must not end its neighbours."""
        while True:
            try:
                self._loop.run_forever()
                os._exit(0)
            except (SystemExit, KeyboardInterrupt):
                _log.error("sys.exit was called: a graph ends by returning or raising.")

    def _late(self) -> float:
        """Returns by how many milliseconds the loop is late, and asks it again. The wall calls it twice a second."""
        if self._asked_at is not None:
            return (time.monotonic() - self._asked_at) * 1000
        self._asked_at = time.monotonic()
        self._loop.call_soon_threadsafe(self._in_time)
        return 0.0

    def _in_time(self) -> None:
        self._asked_at = None

    def _heard(self, message: Message) -> None:
        if self._runs is None:
            return
        kind = message["kind"]
        if kind == "run":
            self._runs.begin(message["spec"])
        elif kind == "abort":
            self._runs.abort(message["run_id"], goes_on=message["goes_on"])
        elif kind == "drain":
            self._runs.drain(message["run_id"])
        elif kind == "hear":
            self._runs.hear(message["run_id"])
        elif kind == "call":
            task = self._loop.create_task(self._call(message))
            self._calls.add(task)
            task.add_done_callback(self._calls.discard)

    async def _call(self, message: Message) -> None:
        """Answers a call. Never fails."""
        call_id, operation = message["call_id"], message["operation"]
        try:
            if operation not in self._answers:
                raise ProblemError(501, f'Python graphs do not support the operation "{operation}".')
            text = to_json(await self._answers[operation](message["args"]))
            self._wall.send({"kind": "result", "call_id": call_id, "json": len(text)}, text)
        except BaseException as error:
            status, sentence = refusal_of(error, operation in _WRITES)
            _log.log(logging.ERROR if status == 500 else logging.DEBUG, "call failed", exc_info=error)
            self._wall.send({"kind": "failed", "call_id": call_id, "status": status, "message": sentence})


def _answers(states: States) -> dict[str, Answering]:
    return {
        "state": states.state,
        "history": states.history,
        "update": states.update,
        "supersteps": states.supersteps,
        "schemas": lambda args: describe.schemas(args, states),
        "graph": lambda args: describe.drawing(args, states),
        "subgraphs": lambda args: describe.subgraphs(args, states),
    }
