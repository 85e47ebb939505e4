"""The loop of the graphs, in a thread of its own, and what it does with the messages of the server."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
import threading
import time
import traceback
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from gx_runner.checkpoints.remembered import Lists
from gx_runner.checkpoints.saver import Storage
from gx_runner.checkpoints.serializer import build_serializer
from gx_runner.graphs.embed import Embedder
from gx_runner.graphs.loading import load_graphs
from gx_runner.graphs.loopback import install_loopback
from gx_runner.graphs.modules import LoadError, find_user_place
from gx_runner.graphs.store import Store
from gx_runner.process.blocking import SENTENCE
from gx_runner.process.debugger import serve_debugger
from gx_runner.process.logs import serve_logs
from gx_runner.process.loops import Loops, run_forever
from gx_runner.running import describe
from gx_runner.running.event_streaming import check_event_streaming
from gx_runner.running.runs import Runs
from gx_runner.running.state import States
from gx_runner.telemetry.spans import Span, Spans
from gx_runner.wall.encode import to_json
from gx_runner.wall.encryption_context import set_encryption_context
from gx_runner.wall.exchange import Exchanges
from gx_runner.wall.failures import ProblemError, build_refusal
from gx_runner.wall.wire import VERSION, Message, Wall

# Nodes that are plain functions run in threads. So many of them can wait for something at a time.
_THREADS = 40
# New objects after which the garbage collector looks at them. A run of a long conversation makes thousands that all go at
# its end, and by the default of 700 the collector takes a third of its time.
_YOUNG = 20_000
# Milliseconds after which a loop that answers nothing is told of; such a runner gets no new work (main.ts beside it).
_HELD = 1500
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
        self._told_of_held = False
        # Whether a developer hears of each place in his code sooner, and with its stack (blocking.py).
        self._is_watched = False
        self._thread = 0
        self._calls: set[asyncio.Task[None]] = set()
        self._embedder: Embedder | None = None

    def start(self, settings: dict[str, Any]) -> None:
        """Loads the graphs and serves them, in a thread of its own."""
        threading.Thread(target=self._serve, args=(settings,), name="gx-graphs", daemon=True).start()

    def forward_message(self, message: Message) -> None:
        """Hands a message to the loop of the graphs."""
        if self._embedder is not None and message.get("operation") == "embed":
            self._embedder.run_in_thread(self._call(message))
        else:
            self._loop.call_soon_threadsafe(self._handle_message, message)

    def _serve(self, settings: dict[str, Any]) -> None:
        self._thread = threading.get_ident()
        serve_logs(self._wall, settings)
        install_loopback(self._exchanges)
        development = settings.get("development") or {}
        self._is_watched = development.get("blockingMilliseconds") is not None
        if (port := development.get("debugPort")) is not None:
            serve_debugger(port)
        try:
            # A module may choose otherwise.
            gc.set_threshold(_YOUNG, 10, 10)
            # No loop runs meanwhile, so that a module may run one of its own.
            graphs, failures = load_graphs(settings["graphs"], partial=settings["partial"])
            embedder = None if settings.get("index") is None else Embedder(settings["index"])
            storage = Storage(build_serializer(settings.get("serde")), Lists())
        except LoadError as error:
            self._wall.send({"kind": "broken", "sentence": str(error)})
            return
        store = Store(self._wall, settings.get("storeLife"))
        states = States(self._wall, graphs, store, storage)
        executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="gx-node")
        self._loop.set_default_executor(executor)
        loops = Loops(self._loop, executor, settings.get("isolatedLoops") or 0)
        self._runs = Runs(self._wall, graphs, store, storage, loops, lambda spec: self._create_spans(spec, settings))
        self._answers = _build_answers(states, embedder)
        self._embedder = embedder
        nodes = {graph_id: one.nodes for graph_id, one in graphs.items()}
        ready = {"kind": "ready", "version": VERSION, "nodes": nodes, "noEvents": check_event_streaming()}
        more = {"failures": failures} if settings["partial"] else {}
        self._wall.send({name: value for name, value in {**ready, **more}.items() if value is not None})
        self._wall.start_beats(self._measure_delay)
        # What the graphs and their libraries have made stays, so the collector need not look at it again and again.
        gc.collect()
        gc.freeze()
        run_forever(self._loop)

    def _create_spans(self, spec: dict[str, Any], settings: dict[str, Any]) -> Spans | None:
        def send(spans: list[Span]) -> None:
            self._wall.send({"kind": "spans", "run_id": spec["run_id"], "spans": spans})

        trace = spec.get("trace")
        return None if trace is None else Spans(trace, send, contents=settings.get("spanContents") is True)

    def _measure_delay(self) -> float:
        """Returns by how many milliseconds the loop is late, and asks it again. The wall calls it twice a second."""
        if self._asked_at is not None:
            late = (time.monotonic() - self._asked_at) * 1000
            self._report_held(late)
            return late
        self._asked_at, self._told_of_held = time.monotonic(), False
        self._loop.call_soon_threadsafe(self._note_answer)
        return 0.0

    def _report_held(self, late: float) -> None:
        """Logs once where the loop is held, which stalls all runs on it."""
        frame = sys._current_frames().get(self._thread)
        if late < _HELD or self._told_of_held or frame is None:
            return
        self._told_of_held = True
        stack = traceback.extract_stack(frame)
        place = find_user_place(stack)
        if place is not None and self._is_watched:
            return
        # A task that a library has begun for itself has no line of the user's code.
        _log.warning(SENTENCE, place or f"{stack[-1].filename}:{stack[-1].lineno}", _HELD)

    def _note_answer(self) -> None:
        self._asked_at = None

    def _handle_message(self, message: Message) -> None:
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
            self._runs.mark_heard(message["run_id"])
        elif kind == "call":
            task = self._loop.create_task(self._call(message))
            self._calls.add(task)
            task.add_done_callback(self._calls.discard)

    async def _call(self, message: Message) -> None:
        """Answers a call. Never fails."""
        call_id, operation = message["call_id"], message["operation"]
        set_encryption_context(message.get("context"))
        try:
            if operation not in self._answers:
                raise ProblemError(501, f'Python graphs do not support the operation "{operation}".')
            text = to_json(await self._answers[operation](message["args"]))
            self._wall.send({"kind": "result", "call_id": call_id, "json": len(text)}, text)
        except BaseException as error:
            status, sentence = build_refusal(error, operation in _WRITES)
            _log.log(logging.ERROR if status == 500 else logging.DEBUG, "call failed", exc_info=error)
            self._wall.send({"kind": "failed", "call_id": call_id, "status": status, "message": sentence})


def _build_answers(states: States, embedder: Embedder | None) -> dict[str, Answering]:
    async def embed(args: dict[str, Any]) -> Any:
        if embedder is None:
            raise ProblemError(400, "gx.json names no store.index whose embedding is in Python.")
        return await embedder.embed(args["texts"])

    return {
        "embed": embed,
        "state": states.read_state,
        "history": states.read_history,
        "update": states.update,
        "supersteps": states.write_supersteps,
        "schemas": lambda args: describe.build_schemas(args, states),
        "graph": lambda args: describe.draw_graph(args, states),
        "subgraphs": lambda args: describe.build_subgraph_schemas(args, states),
    }
