"""The checkpointer of all graphs: it keeps nothing, and the server stores what it is sent."""

from __future__ import annotations

import random
import string
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.memory import InMemorySaver

from gx_runner.failures import ProblemError
from gx_runner.wire import Answer, Message, Wall

# The language that stands before each type of a stored value.
_LANGUAGE = "py:"
_CHARACTERS = string.ascii_lowercase + string.digits


def next_version(current: str | None) -> str:
    """Returns a version that sorts behind the former one as text. Two checkpoints share none by accident."""
    number = int(str(current).split(".")[0]) + 1 if current is not None else 1
    return f"{number:010}.{''.join(random.choices(_CHARACTERS, k=10))}"


class MemorySaver(InMemorySaver):
    """The steps of a run that nobody goes on from. Its versions are those of the other saver, which may keep them."""

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Returns the next version of a channel."""
        return next_version(current)


class Saver(BaseCheckpointSaver[str]):
    """Stores by messages, for one run or for a state that is written by hand."""

    def __init__(self, wall: Wall, *, run_id: str | None = None, waits: bool = True) -> None:
        """Where it `waits`, a graph goes on only when its step is stored."""
        super().__init__()
        self._wall = wall
        self._run_id = run_id
        self._waits = waits

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Returns the next version of a channel."""
        return next_version(current)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Returns one checkpoint, or the last one of its graph."""
        found = self._found(await self._wall.ask(_one(config)))
        return found[0] if found else None

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Does the same for code that can not await."""
        found = self._found(self._wall.ask_now(_one(config)))
        return found[0] if found else None

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yields checkpoints, newest first."""
        for found in self._found(await self._wall.ask(_some(config, filter, before, limit))):
            yield found

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Does the same for code that can not await."""
        yield from self._found(self._wall.ask_now(_some(config, filter, before, limit)))

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        """Stores a checkpoint with the values that are new in it."""
        message, blobs = self._put(config, checkpoint, metadata, new_versions)
        await self._send(message, blobs)
        return _at(message["thread_id"], message["namespace"], checkpoint["id"])

    def put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        """Does the same for code that can not await."""
        message, blobs = self._put(config, checkpoint, metadata, new_versions)
        self._send_now(message, blobs)
        return _at(message["thread_id"], message["namespace"], checkpoint["id"])

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Stores the writes of a task."""
        await self._send(*self._writes(config, writes, task_id, task_path))

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Does the same for code that can not await."""
        self._send_now(*self._writes(config, writes, task_id, task_path))

    async def adelete_thread(self, thread_id: str) -> None:
        """Deletes the checkpoints of a thread."""
        await self._wall.ask({"kind": "delete_thread", "thread_id": thread_id})

    def delete_thread(self, thread_id: str) -> None:
        """Does the same for code that can not await."""
        self._wall.ask_now({"kind": "delete_thread", "thread_id": thread_id})

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Deletes the checkpoints of runs, in all threads."""
        await self._wall.ask(_of_runs(run_ids))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Does the same for code that can not await."""
        self._wall.ask_now(_of_runs(run_ids))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copies the checkpoints of a thread to another, which has none."""
        await self._wall.ask(_copy(source_thread_id, target_thread_id))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Does the same for code that can not await."""
        self._wall.ask_now(_copy(source_thread_id, target_thread_id))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keeps only the last checkpoint of each graph of the threads, or none."""
        await self._wall.ask(_prune(thread_ids, strategy))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Does the same for code that can not await."""
        self._wall.ask_now(_prune(thread_ids, strategy))

    async def _send(self, message: Message, blobs: Sequence[bytes]) -> None:
        if self._waits:
            await self._wall.ask(message, *blobs)
        else:
            self._wall.send(message, *blobs)

    def _send_now(self, message: Message, blobs: Sequence[bytes]) -> None:
        if self._waits:
            self._wall.ask_now(message, *blobs)
        else:
            self._wall.send(message, *blobs)

    def _put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> tuple[Message, Sequence[bytes]]:
        place = config["configurable"]
        values = checkpoint["channel_values"]
        new = [(name, str(version), *self._dumped(values[name])) for name, version in new_versions.items() if name in values]
        message = {
            "kind": "put",
            "run_id": self._run_id,
            "thread_id": str(place["thread_id"]),
            "namespace": place.get("checkpoint_ns", ""),
            "checkpoint_id": checkpoint["id"],
            "parent": place.get("checkpoint_id"),
            "checkpoint": {name: part for name, part in checkpoint.items() if name != "channel_values"},
            "metadata": get_checkpoint_metadata(config, metadata),
            "values": [
                {"version": version, "channel": name, "type": kind, "blob": len(blob)} for name, version, kind, blob in new
            ],
        }
        if isinstance(step := metadata.get("step"), int):
            message["step"] = step
        return message, [blob for *_, blob in new]

    def _writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> tuple[Message, Sequence[bytes]]:
        place = config["configurable"]
        dumped = [(WRITES_IDX_MAP.get(name, at), name, *self._dumped(value)) for at, (name, value) in enumerate(writes)]
        message = {
            "kind": "writes",
            "run_id": self._run_id,
            "thread_id": str(place["thread_id"]),
            "namespace": place.get("checkpoint_ns", ""),
            "checkpoint_id": place["checkpoint_id"],
            "task_id": task_id,
            "path": task_path,
            "replace": all(name in WRITES_IDX_MAP for name, _ in writes),
            "writes": [{"index": at, "channel": name, "type": kind, "blob": len(blob)} for at, name, kind, blob in dumped],
        }
        return message, [blob for *_, blob in dumped]

    def _dumped(self, value: Any) -> tuple[str, bytes]:
        kind, blob = self.serde.dumps_typed(value)
        return _LANGUAGE + kind, blob

    def _found(self, answer: Answer) -> Sequence[CheckpointTuple]:
        """Returns the checkpoints of an answer, behind which stand the bytes of all of their values."""
        at = 0

        def loaded(value: Message) -> Any:
            nonlocal at
            blob = answer.blobs[at : at + value["blob"]]
            at += value["blob"]
            if not value["type"].startswith(_LANGUAGE):
                raise ProblemError(409, f'A graph in another language has written this thread: it holds "{value["type"]}".')
            return self.serde.loads_typed((value["type"].removeprefix(_LANGUAGE), blob))

        return [_tuple(found, loaded) for found in answer.message["checkpoints"]]


async def keep(memory: MemorySaver, saver: Saver, thread_id: str) -> None:
    """Stores the last checkpoint of the graph and of each of its subgraphs, so that another run can go on there."""
    seen: set[str] = set()
    async for found in memory.alist({"configurable": {"thread_id": thread_id}}):
        place = found.config["configurable"]
        if (namespace := place.get("checkpoint_ns", "")) in seen:
            continue
        seen.add(namespace)
        at: RunnableConfig = {"configurable": {"thread_id": thread_id, "checkpoint_ns": namespace}}
        stored = await saver.aput(at, found.checkpoint, found.metadata, found.checkpoint["channel_versions"])
        writes: dict[str, list[tuple[str, Any]]] = {}
        for task_id, channel, value in found.pending_writes or []:
            writes.setdefault(task_id, []).append((channel, value))
        for task_id, of_task in writes.items():
            await saver.aput_writes(stored, of_task, task_id)


def _at(thread_id: str, namespace: str, checkpoint_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": namespace, "checkpoint_id": checkpoint_id}}


def _of_runs(run_ids: Sequence[str]) -> Message:
    return {"kind": "delete_runs", "run_ids": [str(run_id) for run_id in run_ids]}


def _copy(source: str, target: str) -> Message:
    return {"kind": "copy_thread", "from": str(source), "to": str(target)}


def _prune(thread_ids: Sequence[str], strategy: str) -> Message:
    if strategy not in ("keep_latest", "delete"):
        raise ValueError(f'"{strategy}" is no strategy to prune threads by: there are "keep_latest" and "delete".')
    return {"kind": "prune", "thread_ids": [str(thread_id) for thread_id in thread_ids], "strategy": strategy}


def _one(config: RunnableConfig) -> Message:
    place = config["configurable"]
    message = {"kind": "read", "thread_id": str(place["thread_id"]), "namespace": place.get("checkpoint_ns", ""), "limit": 1}
    return {**message, "checkpoint_id": place["checkpoint_id"]} if place.get("checkpoint_id") else message


def _some(
    config: RunnableConfig | None, filter: dict[str, Any] | None, before: RunnableConfig | None, limit: int | None
) -> Message:
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


def _tuple(found: Message, loaded: Any) -> CheckpointTuple:
    values = {value["channel"]: loaded(value) for value in found["values"]}
    writes = [(write["task_id"], write["channel"], loaded(write)) for write in found["writes"]]
    place = (found["thread_id"], found["namespace"])
    checkpoint: Any = {"channel_versions": {}, "versions_seen": {}, **found["checkpoint"], "channel_values": values}
    return CheckpointTuple(
        config=_at(*place, found["checkpoint_id"]),
        checkpoint=checkpoint,
        metadata=found["metadata"],
        parent_config=_at(*place, found["parent"]) if found["parent"] is not None else None,
        pending_writes=writes,
    )
