"""The checkpointer of all graphs: it keeps nothing, and the server stores what it is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, NamedTuple

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
from langgraph.checkpoint.serde.base import SerializerProtocol

from gx_runner.checkpoints.found import LANGUAGE, Found, read_checkpoints
from gx_runner.checkpoints.lists import Key, ListVersion, build_next_list, match_elements
from gx_runner.checkpoints.remembered import Lists, ListsOfCheckpoint
from gx_runner.checkpoints.sends import move_sends_to_channel
from gx_runner.checkpoints.texts import LastLists
from gx_runner.checkpoints.unshown import UNSHOWN, remove_unshown
from gx_runner.checkpoints.version import build_next_version
from gx_runner.wall import questions
from gx_runner.wall.encryption_context import add_encryption_context
from gx_runner.wall.wire import Answer, Message, Wall

# The type of values, and of elements of lists, that are neither bytes nor nothing.
_ANY = "msgpack"
# Bytes of a list below which it is stored whole.
_SMALL = 1000


class Storage(NamedTuple):
    """What the savers of a process share."""

    serde: SerializerProtocol
    lists: Lists


class Saver(BaseCheckpointSaver[str]):
    """Stores by messages, for one run or for a state that is written by hand."""

    def __init__(
        self, wall: Wall, storage: Storage, *, run_id: str | None = None, waits: bool = True, empty: str | None = None
    ) -> None:
        """Where it `waits`, a graph goes on only when its step is stored. The savers of a process share the storage.

        `empty` is the id of the run's thread where that has no checkpoint.
        """
        super().__init__(serde=storage.serde)
        self._wall = wall
        self._lists = storage.lists
        self._run_id = run_id
        self._waits = waits
        self._empty = empty
        self._last_lists: ListsOfCheckpoint = {}
        self._own_lists: dict[str, Any] = {}

    def get_last_lists(self) -> LastLists:
        """Returns the lists of the last step of the graph itself that was read or stored."""
        return LastLists(self._last_lists, self._lists.get_loader(self.serde), self._own_lists)

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Returns the next version of a channel."""
        return build_next_version(current)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Returns one checkpoint, or the last one of its graph."""
        if self._is_first_look(config):
            return None
        message, known = self._add_known(questions.build_read_one(config))
        return self._take_last(self._read_found(await self._wall.ask(message), known))

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Does the same for code that can not await."""
        if self._is_first_look(config):
            return None
        message, known = self._add_known(questions.build_read_one(config))
        return self._take_last(self._read_found(self._wall.ask_now(message), known))

    def _is_first_look(self, config: RunnableConfig) -> bool:
        """Returns true once, where the thread has no checkpoint. A run begins by asking for the last one."""
        if self._empty is None:
            return False
        message = questions.build_read_one(config)
        if message["thread_id"] != self._empty or message["namespace"] or "checkpoint_id" in message:
            return False
        self._empty = None
        return True

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yields checkpoints, newest first."""
        message, known = self._add_known(questions.build_read_many(config, filter, before, limit))
        for found, _ in self._read_found(await self._wall.ask(message), known):
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
        message, known = self._add_known(questions.build_read_many(config, filter, before, limit))
        yield from (found for found, _ in self._read_found(self._wall.ask_now(message), known))

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        """Stores a checkpoint with the values that are new in it."""
        message, blobs = self._build_put(config, checkpoint, metadata, new_versions)
        await self._send(message, blobs)
        return questions.build_place(message["thread_id"], message["namespace"], checkpoint["id"])

    def put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        """Does the same for code that can not await."""
        message, blobs = self._build_put(config, checkpoint, metadata, new_versions)
        self._send_now(message, blobs)
        return questions.build_place(message["thread_id"], message["namespace"], checkpoint["id"])

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Stores the writes of a task."""
        await self._send(*self._build_writes(config, writes, task_id, task_path))

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Does the same for code that can not await."""
        self._send_now(*self._build_writes(config, writes, task_id, task_path))

    async def adelete_thread(self, thread_id: str) -> None:
        """Deletes the checkpoints of a thread."""
        await self._wall.ask({"kind": "delete_thread", "thread_id": thread_id})

    def delete_thread(self, thread_id: str) -> None:
        """Does the same for code that can not await."""
        self._wall.ask_now({"kind": "delete_thread", "thread_id": thread_id})

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Deletes the checkpoints of runs, in all threads."""
        await self._wall.ask(questions.build_delete_runs(run_ids))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Does the same for code that can not await."""
        self._wall.ask_now(questions.build_delete_runs(run_ids))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copies the checkpoints of a thread to another, which has none."""
        await self._wall.ask(questions.build_copy_thread(source_thread_id, target_thread_id))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Does the same for code that can not await."""
        self._wall.ask_now(questions.build_copy_thread(source_thread_id, target_thread_id))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keeps only the last checkpoint of each graph of the threads, or none."""
        await self._wall.ask(questions.build_prune(thread_ids, strategy))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Does the same for code that can not await."""
        self._wall.ask_now(questions.build_prune(thread_ids, strategy))

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

    def _build_put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> tuple[Message, Sequence[bytes]]:
        place = config["configurable"]
        thread_id, namespace, parent = str(place["thread_id"]), place.get("checkpoint_ns", ""), place.get("checkpoint_id")
        self._empty = None
        checkpoint, new_versions = move_sends_to_channel(checkpoint, new_versions)
        key = (thread_id, namespace, checkpoint["id"])
        before = self._lists.find_lists((thread_id, namespace, parent or ""))
        lists = {channel: one for channel, one in before.items() if channel not in new_versions}
        own: dict[str, Any] = {}
        new: list[Message] = []
        blobs: list[bytes] = []
        stored = self._lists.find_lists(key)
        for name, version in new_versions.items():
            # A version never changes, so a list that the first put of the checkpoint has stored stays.
            if name in stored and stored[name].version == version:
                lists[name] = stored[name]
            elif name in checkpoint["channel_values"]:
                value, blob, made = self._pack_value(checkpoint["channel_values"][name], str(version), before.get(name))
                new.append({"version": str(version), "channel": name, **value, "blob": len(blob)})
                blobs.append(blob)
                if made is not None:
                    lists[name], own[name] = made, checkpoint["channel_values"][name]
        self._lists.keep(key, lists)
        if namespace == "":
            self._last_lists = lists
            self._own_lists = own
        kept = remove_unshown(get_checkpoint_metadata(config, metadata), place.get(UNSHOWN, ()))
        # LangChain copies the settings of a run to its metadata. They may be secrets, so the server hears which they are.
        settings = kept.keys() & (config.get("configurable") or {}).keys() - metadata.keys()
        message = {
            "kind": "put",
            "run_id": self._run_id,
            "thread_id": thread_id,
            "namespace": namespace,
            "checkpoint_id": checkpoint["id"],
            "parent": parent,
            "checkpoint": {name: part for name, part in checkpoint.items() if name != "channel_values"},
            "metadata": {name: value for name, value in kept.items() if name not in settings},
            "settings": {name: kept[name] for name in settings},
            "values": new,
        }
        if isinstance(step := metadata.get("step"), int):
            message["step"] = step
        return add_encryption_context(message), blobs

    def _pack_value(self, value: Any, version: str, before: ListVersion | None) -> tuple[Message, bytes, ListVersion | None]:
        """Returns how a value is stored, its bytes and, for a list, the version to compare its next one with."""
        if type(value) is list:
            new = match_elements(
                value, before.elements if before else (), self._lists.get_loader(self.serde), self._pack_element
            )
            if new is not None and sum(len(element.blob) for element in new.elements) >= _SMALL:
                row, blob, made = build_next_list(before, version, new)
                return {"type": LANGUAGE + _ANY, "list": row}, blob, made
        kind, blob = self._pack(value)
        return {"type": kind}, blob, None

    def _pack_element(self, value: Any) -> bytes | None:
        """Returns the bytes of an element; None where they would not stand alone."""
        kind, blob = self.serde.dumps_typed(value)
        return blob if kind == _ANY else None

    def _build_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> tuple[Message, Sequence[bytes]]:
        place = config["configurable"]
        dumped = [(WRITES_IDX_MAP.get(name, at), name, *self._pack(value)) for at, (name, value) in enumerate(writes)]
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
        return add_encryption_context(message), [blob for *_, blob in dumped]

    def _pack(self, value: Any) -> tuple[str, bytes]:
        kind, blob = self.serde.dumps_typed(value)
        return LANGUAGE + kind, blob

    def _add_known(self, message: Message) -> tuple[Message, dict[Key, ListVersion]]:
        """Returns the question with the lists that need not be read, and these lists."""
        known = self._lists.list_known(message["thread_id"], message.get("namespace"))
        return {**message, "known": [f"{channel}\n{version}" for _, channel, version in known]} if known else message, known

    def _take_last(self, found: Sequence[Found]) -> CheckpointTuple | None:
        """Returns the checkpoint that was found, and remembers its lists."""
        if not found:
            return None
        place = found[0].checkpoint.config["configurable"]
        if place["checkpoint_ns"] == "":
            self._last_lists, self._own_lists = found[0].lists, {}
        self._lists.keep((place["thread_id"], place["checkpoint_ns"], place["checkpoint_id"]), found[0].lists)
        return found[0].checkpoint

    def _read_found(self, answer: Answer, known: dict[Key, ListVersion]) -> Sequence[Found]:
        return read_checkpoints(answer, known, self.serde, self._lists.get_loader(self.serde))
