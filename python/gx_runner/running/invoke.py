"""Runs one graph to its end, its stop, or its failure."""

from __future__ import annotations

import asyncio
import contextlib
import copy
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import Any

from gx_runner.checkpoints.checkpoint_map import complete_checkpoint
from gx_runner.checkpoints.memory_saver import MemorySaver, keep
from gx_runner.checkpoints.saver import Saver, Storage
from gx_runner.checkpoints.unstored import NamingMemorySaver, NamingSaver
from gx_runner.graphs.command import choose_input, refuse_unknown
from gx_runner.graphs.compat import register_classes
from gx_runner.graphs.failure_places import build_failed_outcome
from gx_runner.graphs.loading import Graph, LoadedGraph, Use
from gx_runner.graphs.snapshot import list_interrupts
from gx_runner.graphs.store import Store
from gx_runner.running.admissions import Admissions
from gx_runner.running.dispatched import DispatchedEvents
from gx_runner.running.event_streaming import refuse_older, stream_events
from gx_runner.running.events import Chunk, Event, EventsOfRun
from gx_runner.running.protocol import ProtocolStream
from gx_runner.running.resume import find_reached_stop, is_under_way, remove_checkpoint
from gx_runner.running.run_config import build_config, build_keywords
from gx_runner.running.stop import Stop
from gx_runner.telemetry.model_calls import ModelCalls
from gx_runner.telemetry.spans import SpanHandler, Spans
from gx_runner.wall.encode import encode_plain_fields, is_long, to_json
from gx_runner.wall.failures import ProblemError
from gx_runner.wall.wire import Message, RefusedError, Wall

# Fields of an outcome that are attachments, in the order of the schema.
ATTACHED = ("values", "plain", "interrupts")
# The database under the checkpoints does not answer, so that another try may succeed.
_UNAVAILABLE = 503

Spec = dict[str, Any]
Outcome = dict[str, Any]
Emit = Callable[[list[tuple[str, bytes]]], None]


@dataclass(frozen=True)
class Deps:
    """The parts that a run uses."""

    wall: Wall
    loaded: LoadedGraph
    store: Store
    storage: Storage
    stop: Stop
    emit: Emit
    heard: Callable[[], bool]
    # None where runs are not traced.
    spans: Spans | None
    # None where nobody asks for them.
    calls: ModelCalls | None = None
    # None where no budget bounds the run.
    admissions: Admissions | None = None


@dataclass
class Progress:
    """The state of a run that is under way."""

    events: EventsOfRun
    thread_id: str
    # None in a run that was started without event streaming.
    protocol: ProtocolStream | None
    graph: Graph | None = None


@dataclass
class Call:
    """A call of a graph."""

    spec: Spec
    graph: Graph
    config: dict[str, Any]
    keywords: dict[str, Any] = field(default_factory=dict)


class LostError(Exception):
    """Another worker has the run."""


async def invoke(spec: Spec, deps: Deps) -> Outcome:
    """Carries out a run. The outcome says how it went, with its attachments as JSON."""
    kwargs = spec["kwargs"]
    protocol = ProtocolStream(spec["graph_id"], deps.emit) if kwargs.get("protocol") else None
    # A run that event streaming started has none of the plain streams.
    progress = Progress(
        EventsOfRun([] if protocol else kwargs["stream_mode"], kwargs.get("unshown") or ()), spec["thread_id"], protocol
    )
    if deps.heard():
        deps.emit([("metadata", to_json({"run_id": spec["run_id"], "attempt": spec["attempt"]}))])
    if protocol:
        protocol.begin()
    try:
        outcome = await _run_graph(spec, deps, progress)
    except (Exception, SystemExit, asyncio.CancelledError) as error:
        return await _end_stopped(error, progress, deps.stop)
    if protocol:
        protocol.end("interrupted" if progress.events.stopped else "completed")
    return outcome


async def _end_stopped(error: BaseException, progress: Progress, stop: Stop) -> Outcome:
    """Returns the outcome of a run that has raised: another worker has it, or it was stopped, or it has failed."""
    if isinstance(error, LostError):
        return {"status": "interrupted", "waiting": False, "lost": True}
    if not stop.asked and stop.is_drained_by(error):
        return {"status": "interrupted", "waiting": False, "drained": True}
    if not stop.asked and isinstance(error, RefusedError) and error.status == _UNAVAILABLE:
        return {"status": "interrupted", "waiting": False, "retry": True}
    if progress.protocol and not stop.goes_on:
        progress.protocol.end("interrupted" if stop.asked else "failed")
    if stop.asked:
        return await _finish(progress, "interrupted")
    # The graph may also have been cancelled by something within it.
    return {**_to_result(progress.events), **build_failed_outcome(error)}


async def _run_graph(spec: Spec, deps: Deps, progress: Progress) -> Outcome:
    kwargs = spec["kwargs"]
    if kwargs.get("protocol"):
        refuse_older()
    empty = spec["thread_id"] if spec["empty"] else None
    saver = NamingSaver(deps.wall, deps.storage, run_id=spec["run_id"], waits=kwargs["durability"] == "sync", empty=empty)
    progress.events.last_lists = saver.get_last_lists
    memory = NamingMemorySaver(serde=deps.storage.serde) if kwargs["temporary"] else None
    goes_on = await is_under_way(spec, saver)
    config = remove_checkpoint(build_config(spec)) if goes_on else await complete_checkpoint(build_config(spec), saver)
    use = Use(config, "threads.create_run", deps.store, kwargs["context"])
    async with deps.loaded.open_graph(use) as made:
        graph = bind_graph(made, memory or saver, deps.store, spec["graph_id"])
        progress.graph = graph
        refuse_unknown(kwargs, list(graph.nodes))
        if goes_on and (reached := await find_reached_stop(graph, spec)) is not None:
            return _build_outcome(reached.values, "success", waiting=True, interrupts=list_interrupts(reached))
        await _begin(spec, deps)
        given = None if goes_on else await choose_input(graph, spec)
        keywords = {**build_keywords(graph, kwargs), **deps.stop.build_drain_control(graph)}
        await _execute(given, Call(spec, graph, _add_callbacks(config, deps), keywords), progress, deps)
        outcome = await _finish(progress, "success")
        if memory is not None and kwargs.get("keeps_waiting") and outcome["waiting"]:
            return await _keep_waiting(outcome, memory, saver, config["configurable"])
        return outcome


def bind_graph(graph: Graph, checkpointer: Any, store: Store, graph_id: str) -> Graph:
    """Returns the graph with the storage of the server in place of its own.

    LangGraph's `copy` calls the constructor again, and loses what `compile` has set behind it.
    """
    register_classes(graph)
    made = copy.copy(graph)
    made.checkpointer, made.store = checkpointer, store
    made.name = graph_id if graph.name == "LangGraph" else graph.name
    return made


async def _begin(spec: Spec, deps: Deps) -> None:
    """Asks whether a later attempt still has the run, before it calls the graph."""
    if spec["attempt"] == 1:
        return
    answer = await deps.wall.ask({"kind": "begin", "run_id": spec["run_id"], "attempt": spec["attempt"]})
    if not answer.message["begins"]:
        raise LostError


def _add_callbacks(config: dict[str, Any], deps: Deps) -> dict[str, Any]:
    spans = [] if deps.spans is None else [SpanHandler(deps.spans)]
    # A page may be told things by LangChain's callbacks.
    told = [DispatchedEvents()] if "ag-ui" in config["configurable"] else []
    bounds = [] if deps.admissions is None else deps.admissions.create_handlers()
    callbacks = [*spans, *([] if deps.calls is None else [deps.calls]), *told, *bounds]
    return {**config, "callbacks": callbacks} if callbacks else config


async def _execute(given: Any, call: Call, progress: Progress, deps: Deps) -> None:
    if progress.protocol:
        await _execute_streaming(given, call, progress, progress.protocol, deps.wall)
        return

    events = progress.events

    def send(some: list[Event]) -> None:
        # Events that nobody reads are not made into text, which takes long where the state is long.
        if some and deps.heard():
            deps.emit([(name, events.encode_event(data)) for name, data in some])

    stepped = False
    try:
        async with contextlib.aclosing(_stream_pieces(given, call)) as pieces:
            async for piece in pieces:
                stepped = stepped or isinstance(piece, Chunk)
                send(events.convert(piece) if isinstance(piece, Chunk) else [(piece[0], events.strip_event(piece[1]))])
                await deps.wall.wait_for_room()
    except Exception as error:
        # The last step is over, and the next attempt sends nothing of it.
        if deps.stop.is_drained_by(error):
            send(events.end())
        raise
    if not stepped:
        await _refuse_nothing(call.graph, progress.thread_id)
    send(events.end())


async def _refuse_nothing(graph: Graph, thread_id: str) -> None:
    """Raises where a graph with nodes did nothing at all: it sent no chunk, and its thread has no checkpoint.

    A step without a change sends none either, but is stored.
    """
    if graph.nodes and (await graph.aget_state({"configurable": {"thread_id": thread_id}})).created_at is None:
        raise ProblemError(500, "The graph took no step and stored nothing.")


async def _execute_streaming(given: Any, call: Call, progress: Progress, protocol: ProtocolStream, wall: Wall) -> None:
    stepped = False

    async def take(event: Any) -> None:
        nonlocal stepped
        stepped = True
        protocol.take(event)
        await wall.wait_for_room()

    await stream_events(call.graph, given, call.config, call.keywords, progress.events.convert, take)
    if not stepped:
        await _refuse_nothing(call.graph, progress.thread_id)


async def _stream_pieces(given: Any, call: Call) -> AsyncGenerator[Chunk | Event]:
    subgraphs = call.spec["kwargs"]["subgraphs"]
    config: Any = call.config
    if "events" not in call.spec["kwargs"]["stream_mode"]:
        # LangGraph's type hides that this is a generator, which has to be closed.
        stream: AsyncGenerator[Any] = call.graph.astream(given, config, **call.keywords)  # type: ignore[assignment]
        async with contextlib.aclosing(stream) as chunks:
            async for chunk in chunks:
                yield _to_chunk(chunk, subgraphs)
        return
    root: str | None = None
    async for event in call.graph.astream_events(given, config, version="v2", **call.keywords):
        root = root or event["run_id"]
        if "langsmith:hidden" in event.get("tags", []):
            continue
        # The run's own chunks are sent by their own modes.
        if event["event"] == "on_chain_stream" and event["run_id"] == root:
            yield _to_chunk(event["data"]["chunk"], subgraphs)
        else:
            yield ("events", event)


def _to_chunk(chunk: Any, subgraphs: bool) -> Chunk:
    return Chunk(tuple(chunk[0]), chunk[1], chunk[2]) if subgraphs else Chunk((), chunk[0], chunk[1])


def _to_result(events: EventsOfRun, *, over: bool = False) -> Outcome:
    return {} if events.values is None else _build_values(events.values, events.encode_event(events.values, over=over))


def _build_values(state: Any, text: bytes) -> Outcome:
    return {"values": text, **({"plain": encode_plain_fields(state)} if isinstance(state, dict) and is_long(text) else {})}


def _build_outcome(state: Any, status: str, *, waiting: bool, interrupts: dict[str, list[Any]]) -> Outcome:
    return {**_build_values(state, to_json(state)), "status": status, "waiting": waiting, "interrupts": to_json(interrupts)}


async def _finish(progress: Progress, status: str) -> Outcome:
    """Returns how the run ended. A graph that stopped on the way is asked for its open questions."""
    events, graph = progress.events, progress.graph
    if graph is None or (not events.stopped and status == "success"):
        return {**_to_result(events, over=True), "status": status, "waiting": False, "interrupts": b"{}"}
    try:
        state = await graph.aget_state({"configurable": {"thread_id": progress.thread_id}})
    except Exception:
        return {**_to_result(events), "status": status, "waiting": False}
    if events.values is None and state.created_at is not None:
        # A run that was stopped before it sent any state is where the last checkpoint of its thread is.
        return _build_outcome(state.values, status, waiting=bool(state.next), interrupts=list_interrupts(state))
    return {
        **_to_result(events),
        "status": status,
        "waiting": bool(state.next),
        "interrupts": to_json(list_interrupts(state)),
    }


async def _keep_waiting(outcome: Outcome, memory: MemorySaver, saver: Saver, settings: dict[str, Any]) -> Outcome:
    """Stores where a temporary run waits, so that another run can answer. Without a question it is over."""
    if outcome.get("interrupts", b"{}") == b"{}":
        return {**outcome, "waiting": False}
    await keep(memory, saver, settings)
    return outcome


def build_done_message(run_id: str, outcome: Outcome) -> tuple[Message, list[bytes]]:
    """Returns the last message of a run, and its attachments."""
    attached = [outcome[name] for name in ATTACHED if name in outcome]
    lengths = {name: len(outcome[name]) for name in ATTACHED if name in outcome}
    return {"kind": "done", "run_id": run_id, "outcome": {**outcome, **lengths}}, attached
