"""States of threads: read, listed, and written by hand."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from langgraph.types import StateUpdate

from gx_runner.checkpoints.saver import Saver, Storage
from gx_runner.graphs.command import build_command
from gx_runner.graphs.compat import CHECKPOINTER
from gx_runner.graphs.loading import Graph, LoadedGraph, Use
from gx_runner.graphs.store import Store
from gx_runner.running.invoke import bind_graph
from gx_runner.running.states import load_history, load_state
from gx_runner.wall.failures import ProblemError
from gx_runner.wall.wire import Wall

Args = dict[str, Any]


class States:
    """Answers questions about threads."""

    def __init__(self, wall: Wall, graphs: dict[str, LoadedGraph], store: Store, storage: Storage) -> None:
        self._saver = Saver(wall, storage)
        self._graphs = graphs
        self._store = store

    @contextlib.asynccontextmanager
    async def open_graph(self, args: Args, access: str) -> AsyncIterator[Graph]:
        """Yields the graph of a call."""
        graph_id = args["graph_id"]
        if graph_id not in self._graphs:
            raise ProblemError(404, f'Graph "{graph_id}" is not part of this revision.')
        made_with = args.get("made_with") or {}
        place = _build_config(args)["configurable"] if "thread_id" in args else {}
        config = {**made_with, "configurable": {**(made_with.get("configurable") or {}), **place}}
        async with self._graphs[graph_id].open_graph(Use(config, access, self._store)) as made:
            yield bind_graph(made, self._saver, self._store, graph_id)

    async def read_state(self, args: Args) -> Any:
        """Returns the state of a thread."""
        async with self.open_graph(args, "threads.read") as graph:
            config = self._complete_config(graph, _build_config(args))
            return await load_state(graph, self._saver, config, subgraphs=args.get("subgraphs") is True)

    async def read_history(self, args: Args) -> Any:
        """Returns earlier states, newest first."""
        before = args.get("before")
        if isinstance(before, str):
            before = {"checkpoint_id": before}
        options: dict[str, Any] = {"limit": args["limit"]}
        if before:
            options["before"] = {"configurable": before.get("configurable", before)}
        if args.get("metadata"):
            options["filter"] = args["metadata"]
        async with self.open_graph(args, "threads.read") as graph:
            return await load_history(graph, self._saver, self._complete_config(graph, _build_config(args)), options)

    async def update(self, args: Args) -> Any:
        """Writes state as a node would, and returns where the thread stands after it."""
        async with self.open_graph(args, "threads.update") as graph:
            as_node = args.get("as_node")
            written = await graph.aupdate_state(
                _build_config(args), args.get("values"), **({"as_node": as_node} if as_node else {})
            )
            return await self._answer_write(graph, written)

    async def write_supersteps(self, args: Args) -> Any:
        """Writes a history of states."""
        if any(not step["updates"] for step in args["supersteps"]):
            raise ProblemError(400, "supersteps: each needs at least one update.")
        steps = [[_build_update(one) for one in step["updates"]] for step in args["supersteps"]]
        async with self.open_graph(args, "threads.update") as graph:
            return await self._answer_write(graph, await graph.abulk_update_state(_build_config(args), steps))

    def _complete_config(self, graph: Graph, config: Any) -> Any:
        """Returns the place to read. LangGraph does not find a graph that a node calls without declaring it."""
        path = _build_path(config["configurable"]["checkpoint_ns"])
        if path == "" or any(True for _ in graph.get_subgraphs(namespace=path, recurse=True)):
            return config
        return {"configurable": {**config["configurable"], CHECKPOINTER: self._saver}}

    async def _answer_write(self, graph: Graph, written: Any) -> Any:
        place = written["configurable"]
        end: Any = {"configurable": {"thread_id": place["thread_id"], "checkpoint_ns": ""}}
        state = await load_state(graph, self._saver, end, subgraphs=False)
        # Without a map, because a run that is given this checkpoint goes on with what was written (checkpoint_map.py).
        names = ("thread_id", "checkpoint_ns", "checkpoint_id")
        checkpoint = {name: place.get(name, "") for name in names}
        return {
            "answer": {"checkpoint": checkpoint, "configurable": checkpoint, "checkpoint_id": place.get("checkpoint_id")},
            "thread": {
                "values": state["values"],
                "waiting": bool(state["next"]),
                "interrupts": {task["id"]: task["interrupts"] for task in state["tasks"] if task["interrupts"]},
            },
        }


def _build_config(args: Args) -> Any:
    given = {name: one for name, one in (args.get("checkpoint") or {}).items() if one is not None and name != "thread_id"}
    return {"configurable": {"checkpoint_ns": "", **given, "thread_id": args["thread_id"]}}


def _build_path(namespace: str) -> str:
    """Returns the names of the nodes that lead to a namespace. Its other parts are ids and numbers of calls."""
    return "|".join(part.split(":")[0] for part in namespace.split("|") if not part.isdigit())


def _build_update(update: dict[str, Any]) -> StateUpdate:
    command = update.get("command")
    values: Any = build_command(command) if command else update.get("values")
    return StateUpdate(values, update.get("as_node"))
