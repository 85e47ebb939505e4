"""Calls of graphs that stream by LangGraph's own event streaming, its version "v3"."""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
import logging
import warnings
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from gx_runner.graphs.loading import Graph
from gx_runner.running.events import Chunk
from gx_runner.running.protocol import INTERRUPT, TASKS
from gx_runner.wall.failures import ProblemError

if TYPE_CHECKING:
    from langgraph.stream import AsyncGraphRunStream, ProtocolEvent, StreamTransformer

# The warning is about the call in this file, which no user can change.
warnings.filterwarnings("ignore", message="The v3 streaming protocol on Pregel is experimental")

_log = logging.getLogger("gx_runner")
_MODES = ("values", "updates", "messages", "tools", "custom", "tasks", "checkpoints")

Saw = Callable[[Chunk], object]
Take = Callable[[Any], Awaitable[None]]


def check_event_streaming() -> str | None:
    """Returns why runs can't publish events: an older LangGraph has no event streaming of its own."""
    if importlib.util.find_spec("langgraph.stream") is not None:
        return None
    version = importlib.metadata.version("langgraph")
    return f"Event streaming needs LangGraph 1.2 or newer, and this is {version}: use the streams of runs instead."


def refuse_older() -> None:
    """Raises `ProblemError` where runs can't publish events."""
    sentence = check_event_streaming()
    if sentence is not None:
        raise ProblemError(501, sentence)


async def stream_events(graph: Graph, given: Any, config: Any, keywords: dict[str, Any], saw: Saw, take: Take) -> None:
    """Runs a graph to its end. `take` gets its events, and `saw` its states and updates before any transformer."""
    ended = asyncio.Event()
    run = await graph.astream_events(given, config, version="v3", transformers=[_build_watcher(saw, ended)], **keywords)
    # A reader that is cancelled leaves the graph under way, so that the reader is another task than this one.
    reading = asyncio.ensure_future(_read(run, take))
    try:
        await asyncio.wait({reading})
    finally:
        # The call of `abort` ends the transformers, too.
        is_whole = ended.is_set()
        await run.abort()
        await asyncio.wait({reading})
    if not is_whole:
        reading.result()
    elif error := reading.exception():
        _log.error("A stream transformer failed at the end of its graph, which keeps its result.", exc_info=error)


async def _read(run: AsyncGraphRunStream, take: Take) -> None:
    async for event in run:
        await take(event)


def _build_watcher(saw: Saw, ended: asyncio.Event) -> Callable[[tuple[str, ...]], StreamTransformer]:
    """Returns a transformer that asks for all modes, and sees the events before those that other ones hold back."""
    from langgraph.stream import StreamChannel, StreamTransformer

    class Watching(StreamTransformer):
        before_builtins = True
        required_stream_modes = _MODES

        def init(self) -> dict[str, Any]:
            self._tasks: StreamChannel[Any] = StreamChannel(TASKS)
            return {TASKS: self._tasks}

        def process(self, event: ProtocolEvent) -> bool:
            # Subgraphs have transformers of their own, which see the same events again.
            if not self.scope:
                method, params = event["method"], event["params"]
                if method == "tasks":
                    self._tasks.push((params["namespace"], params["data"]))
                elif method in ("values", "updates"):
                    saw(_to_chunk(event))
            return True

        def finalize(self) -> None:
            if not self.scope:
                ended.set()

    return Watching


def _to_chunk(event: ProtocolEvent) -> Chunk:
    """Returns an event in the form of LangGraph's other streams."""
    params = event["params"]
    data, interrupts = params["data"], params.get("interrupts", ())
    if interrupts and isinstance(data, dict):
        data = {**data, INTERRUPT: interrupts}
    return Chunk(tuple(params["namespace"]), event["method"], data)
