"""What a checkpointer asks the server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig

from gx_runner.wall.failures import ProblemError
from gx_runner.wall.wire import Message


def build_place(thread_id: str, namespace: str, checkpoint_id: str) -> RunnableConfig:
    """Returns the place of a checkpoint."""
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": namespace, "checkpoint_id": checkpoint_id}}


def build_delete_runs(run_ids: Sequence[str]) -> Message:
    """Returns the question to delete the checkpoints of runs."""
    return {"kind": "delete_runs", "run_ids": [str(run_id) for run_id in run_ids]}


def build_copy_thread(source: str, target: str) -> Message:
    """Returns the question to copy the checkpoints of a thread."""
    return {"kind": "copy_thread", "from": str(source), "to": str(target)}


def build_prune(thread_ids: Sequence[str], strategy: str) -> Message:
    """Returns the question to prune threads. Raises where there is no such strategy."""
    if strategy not in ("keep_latest", "delete"):
        raise ValueError(f'"{strategy}" is no strategy to prune threads by: there are "keep_latest" and "delete".')
    return {"kind": "prune", "thread_ids": [str(thread_id) for thread_id in thread_ids], "strategy": strategy}


def build_read_one(config: RunnableConfig) -> Message:
    """Returns the question for a checkpoint, or for the last one of its graph."""
    place = config["configurable"]
    message = {"kind": "read", "thread_id": str(place["thread_id"]), "namespace": place.get("checkpoint_ns", ""), "limit": 1}
    return {**message, "checkpoint_id": place["checkpoint_id"]} if place.get("checkpoint_id") else message


def build_read_many(
    config: RunnableConfig | None, filter: dict[str, Any] | None, before: RunnableConfig | None, limit: int | None
) -> Message:
    """Returns the question for checkpoints. Raises where they are not those of a thread."""
    place = (config or {}).get("configurable") or {}
    if "thread_id" not in place:
        raise ProblemError(400, "Checkpoints are listed by thread; the list of all threads is not supported.")
    message: Message = {"kind": "read", "thread_id": str(place["thread_id"])}
    if place.get("checkpoint_ns") is not None:
        message["namespace"] = place["checkpoint_ns"]
    if place.get("checkpoint_id"):
        message["checkpoint_id"] = place["checkpoint_id"]
    if before is not None:
        message["before"] = before["configurable"]["checkpoint_id"]
    if filter:
        message["metadata"] = filter
    return {**message, "limit": limit} if limit is not None else message
