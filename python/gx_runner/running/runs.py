"""The runs under way: they begin, are stopped, and send their events in batches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gx_runner.checkpoints.saver import Storage
from gx_runner.graphs.failure_places import build_failed_outcome
from gx_runner.graphs.loading import LoadedGraph
from gx_runner.graphs.store import Store
from gx_runner.process.logs import flush_prints, set_run_ids
from gx_runner.process.loops import Loops, run_on
from gx_runner.running.admissions import Admissions
from gx_runner.running.invoke import Deps, Emit, Outcome, Spec, build_done_message, invoke
from gx_runner.running.stop import Stop
from gx_runner.telemetry.model_calls import ModelCall, ModelCalls
from gx_runner.telemetry.passed_trace import pass_trace
from gx_runner.telemetry.spans import Spans
from gx_runner.wall.encryption_context import set_encryption_context
from gx_runner.wall.failures import ProblemError
from gx_runner.wall.wire import Wall

# Who hears of a run's parts.
_Ears = tuple[Spans | None, ModelCalls | None, Admissions | None]


@dataclass
class _Begun:
    """A run that its loop was given. It is under way from its first step on."""

    loop: asyncio.AbstractEventLoop
    stop: Stop
    task: asyncio.Task[None] | None = None
    under_way: bool = False

    def cancel(self) -> None:
        """Cancels the task. One that is cancelled before its first step would report no end; it sees the stop itself."""
        if self.task is not None and self.under_way:
            self.task.cancel()


class Runs:
    """All public methods are called on the loop of the graphs; a run may have another one."""

    def __init__(
        self,
        wall: Wall,
        graphs: dict[str, LoadedGraph],
        store: Store,
        storage: Storage,
        loops: Loops,
        create_spans: Callable[[Spec], Spans | None],
    ) -> None:
        self._wall = wall
        self._loops = loops
        self._graphs = graphs
        self._store = store
        self._storage = storage
        self._create_spans = create_spans
        self._begun: dict[str, _Begun] = {}
        self._unheard: set[str] = set()

    def begin(self, spec: Spec) -> None:
        """Carries out a run beside the others."""
        run_id = spec["run_id"]
        if spec["unheard"]:
            self._unheard.add(run_id)
        begun = self._begun[run_id] = _Begun(self._loops.take(), Stop())

        def start() -> None:
            begun.task = begun.loop.create_task(self._run(spec, begun))

        run_on(begun.loop, start)

    def abort(self, run_id: str, *, goes_on: bool) -> None:
        """Asks a run to stop as soon as it can. Where it `goes_on` elsewhere, nobody is to hear of an end."""
        if (begun := self._begun.get(run_id)) is not None:
            begun.stop.asked, begun.stop.goes_on = True, goes_on
            run_on(begun.loop, begun.cancel)

    def drain(self, run_id: str) -> None:
        """Asks a run to stop between two of its steps, from where it goes on elsewhere."""
        if (begun := self._begun.get(run_id)) is not None:
            begun.stop.drain()

    def mark_heard(self, run_id: str) -> None:
        """From now on, the events of the run are read."""
        self._unheard.discard(run_id)

    async def _run(self, spec: Spec, begun: _Begun) -> None:
        run_id = spec["run_id"]
        begun.under_way = True
        set_run_ids(spec)
        set_encryption_context(spec["kwargs"].get("encryption_context"))
        batch = _Batch(self._wall, run_id)
        spans = self._create_spans(spec)
        pass_trace(spec, spans)
        calls = self._create_model_calls(spec)
        admissions = Admissions(self._wall, run_id, calls) if spec.get("bounded") else None
        outcome = await self._invoke(spec, begun.stop, batch.add, (spans, calls, admissions))
        if calls is not None:
            calls.close()
        if spans is not None:
            spans.close()
        flush_prints()
        self._begun.pop(run_id, None)
        self._loops.give_back(begun.loop)
        self._unheard.discard(run_id)
        batch.flush()
        try:
            message, attached = build_done_message(run_id, outcome)
            self._wall.send(message, *attached)
        except ValueError as error:
            # The last state is too long for a frame.
            self._wall.send({"kind": "done", "run_id": run_id, "outcome": build_failed_outcome(error)})

    def _create_model_calls(self, spec: Spec) -> ModelCalls | None:
        def send(call: ModelCall) -> None:
            # The wall sends what one turn of a loop brings in one piece.
            self._wall.send({"kind": "usage", "run_id": spec["run_id"], "calls": [call]})

        return ModelCalls(send) if spec.get("measures_usage") else None

    async def _invoke(self, spec: Spec, stop: Stop, emit: Emit, ears: _Ears) -> Outcome:
        run_id, graph_id = spec["run_id"], spec["graph_id"]
        try:
            if stop.asked:
                raise asyncio.CancelledError
            if graph_id not in self._graphs:
                raise ProblemError(404, f'Graph "{graph_id}" is not part of this revision.')
            loaded, heard = self._graphs[graph_id], lambda: run_id not in self._unheard
            return await invoke(spec, Deps(self._wall, loaded, self._store, self._storage, stop, emit, heard, *ears))
        except asyncio.CancelledError:
            # The run was stopped while it looked for its end.
            return {"status": "interrupted", "waiting": False}
        except BaseException as error:
            return build_failed_outcome(error)


class _Batch:
    """Collects the events of one turn of the loop, so that a burst of events crosses in one message."""

    def __init__(self, wall: Wall, run_id: str) -> None:
        self._wall = wall
        self._run_id = run_id
        self._events: list[tuple[str, bytes]] = []

    def add(self, events: list[tuple[str, bytes]]) -> None:
        if not self._events:
            asyncio.get_running_loop().call_soon(self.flush)
        self._events.extend(events)

    def flush(self) -> None:
        if self._events:
            events, self._events = self._events, []
            batch: list[Any] = [[name, len(text)] for name, text in events]
            self._wall.send({"kind": "events", "run_id": self._run_id, "batch": batch}, *(text for _, text in events))
