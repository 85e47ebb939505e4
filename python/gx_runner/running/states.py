"""Reads states of threads.

A graph may refuse what is stored (a class of its state does, or a reducer), and would hide the whole history of the
thread by that. Such a checkpoint is shown as it is stored, so that an earlier one can be found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple

from gx_runner.checkpoints.checkpoint_map import build_map
from gx_runner.checkpoints.saver import Saver
from gx_runner.graphs.loading import Graph
from gx_runner.graphs.snapshot import build_thread_state, find_checkpoint
from gx_runner.wall.failures import ProblemError, build_failure
from gx_runner.wall.wire import RefusedError

State = dict[str, Any]


async def load_state(graph: Graph, saver: Saver, config: Any, *, subgraphs: bool) -> State:
    """Returns the state at a checkpoint, or the last one."""
    try:
        return build_thread_state(await graph.aget_state(config, subgraphs=subgraphs))
    except (ProblemError, RefusedError):
        # The storage has failed, and not the graph.
        raise
    except Exception as error:
        if subgraphs:
            return await _load_levels(graph, saver, config)
        stored = await saver.aget_tuple(config)
        if stored is None:
            raise
        return _build_refused(graph, stored, error)


async def _load_levels(graph: Graph, saver: Saver, config: Any) -> State:
    """Returns the state with those of its subgraphs, each of which is read by itself."""
    state = await load_state(graph, saver, config, subgraphs=False)
    for task in state["tasks"]:
        if (place := task["checkpoint"]) is not None:
            task["state"] = await load_state(graph, saver, {"configurable": place}, subgraphs=True)
            task["checkpoint"] = None
    return state


def _build_refused(graph: Graph, stored: CheckpointTuple, error: Exception) -> State:
    place: Any = (stored.config.get("configurable")) or {}
    checkpoint = find_checkpoint({"configurable": {**place, **build_map(place, stored.metadata)}})
    parent = find_checkpoint(stored.parent_config)
    return {
        "values": _pick_values(graph.stream_channels_asis, stored.checkpoint["channel_values"]),
        "next": [],
        "tasks": [],
        "metadata": stored.metadata or {},
        "created_at": stored.checkpoint["ts"],
        "checkpoint": checkpoint,
        "parent_checkpoint": parent,
        "interrupts": [],
        "checkpoint_id": checkpoint and checkpoint.get("checkpoint_id"),
        "parent_checkpoint_id": parent and parent.get("checkpoint_id"),
        "error": build_failure(error),
    }


def _pick_values(channels: str | Sequence[str], values: dict[str, Any]) -> Any:
    if isinstance(channels, str):
        return values.get(channels, {})
    return {name: values[name] for name in channels if name in values}


async def load_history(graph: Graph, saver: Saver, config: Any, options: dict[str, Any]) -> list[State]:
    """Returns earlier states, newest first."""
    try:
        return [build_thread_state(state) async for state in graph.aget_state_history(config, **options)]
    except (ProblemError, RefusedError):
        raise
    except Exception:
        # LangGraph stops at the first one that the graph refuses, so each is read by itself.
        found = [one async for one in saver.alist(config, **options)]
    return [await load_state(graph, saver, one.config, subgraphs=False) for one in found]
