"""Where the next attempt of a run begins after the worker of the last one has died."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.types import StateSnapshot

from gx_runner.checkpoints.saver import Saver
from gx_runner.graphs.loading import Graph

_START = "__start__"
Nodes = str | Sequence[str] | None


async def is_under_way(spec: dict[str, Any], saver: Saver) -> bool:
    """Returns true when an earlier attempt left a checkpoint, from which the run goes on without input."""
    if spec["attempt"] == 1 or spec["kwargs"]["temporary"]:
        return False
    last = await saver.aget_tuple({"configurable": {"thread_id": spec["thread_id"], "checkpoint_ns": ""}})
    return last is not None and dict(last.metadata).get("run_id") == spec["run_id"]


def remove_checkpoint(config: dict[str, Any]) -> dict[str, Any]:
    """Returns the call without the checkpoint that the run began from, because the run has one of its own by now."""
    began = ("checkpoint_id", "checkpoint_map")
    return {**config, "configurable": {name: one for name, one in config["configurable"].items() if name not in began}}


def _has_reached(names: Sequence[str], nodes: Nodes) -> bool:
    if nodes == "*":
        return any(name != _START for name in names)
    return any(name in (nodes or ()) for name in names)


async def find_reached_stop(graph: Graph, spec: dict[str, Any]) -> StateSnapshot | None:
    """Returns the state of a run that had come to where it was to stop when its worker died; None for any other.

    Such a run must not go on: LangGraph would take the missing input as the word to do so.
    """
    kwargs = spec["kwargs"]
    before: Nodes = kwargs["interrupt_before"] or graph.interrupt_before_nodes
    after: Nodes = kwargs["interrupt_after"] or graph.interrupt_after_nodes
    if not before and not after:
        return None
    last = await graph.aget_state({"configurable": {"thread_id": spec["thread_id"], "checkpoint_ns": ""}})
    if not last.next:
        return None
    stopped = _has_reached(last.next, before) or _has_reached(await _list_nodes_before(graph, last), after)
    return last if stopped else None


async def _list_nodes_before(graph: Graph, state: StateSnapshot) -> Sequence[str]:
    """Returns the nodes that led to a state; none when no step did."""
    if state.parent_config is None or (state.metadata or {}).get("source") != "loop":
        return ()
    return (await graph.aget_state(state.parent_config)).next
