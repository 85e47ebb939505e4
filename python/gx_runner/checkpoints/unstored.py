"""Names the channel whose value can not be stored; the serializer knows only the value."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, ChannelVersions, Checkpoint, CheckpointMetadata

from gx_runner.checkpoints.memory_saver import MemorySaver
from gx_runner.checkpoints.saver import Saver


class UnstoredError(TypeError):
    """A value of a state has no stored form."""


class _Naming(BaseCheckpointSaver[str]):
    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        with self._explain_failure(checkpoint["channel_values"].items()):
            return await super().aput(config, checkpoint, metadata, new_versions)

    def put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        with self._explain_failure(checkpoint["channel_values"].items()):
            return super().put(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        with self._explain_failure(writes):
            await super().aput_writes(config, writes, task_id, task_path)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        with self._explain_failure(writes):
            super().put_writes(config, writes, task_id, task_path)

    @contextlib.contextmanager
    def _explain_failure(self, values: Iterable[tuple[str, Any]]) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            name = next((name for name, value in values if not self._is_storable(value)), None)
            if name is None or isinstance(error, UnstoredError):
                raise
            raise UnstoredError(f'The value of "{name}" can not be stored: {error}') from error

    def _is_storable(self, value: Any) -> bool:
        try:
            self.serde.dumps_typed(value)
        except Exception:
            return False
        return True


class NamingSaver(_Naming, Saver):
    """Stores by messages."""


class NamingMemorySaver(_Naming, MemorySaver):
    """Keeps the steps of a temporary run."""
