"""The checkpointer of temporary runs, whose last steps can be stored where they wait for an answer."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from gx_runner.checkpoints.saver import Saver
from gx_runner.checkpoints.unshown import remove_unshown
from gx_runner.checkpoints.version import build_next_version

# Names of metadata that LangGraph writes, whatever a run's settings are called.
_OF_LANGGRAPH = {"source", "step", "parents", "run_id"}


class MemorySaver(InMemorySaver):
    """The steps of a run that nobody goes on from. Its versions are those of the other saver, which may keep them."""

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Returns the next version of a channel."""
        return build_next_version(current)


async def keep(memory: MemorySaver, saver: Saver, settings: dict[str, Any]) -> None:
    """Stores the last checkpoint of the graph and of each of its subgraphs, so that another run can go on there.

    `settings` are those of the run, which the metadata have from LangGraph; the saver takes them from here.
    """
    thread_id = settings["thread_id"]
    copied = settings.keys() - _OF_LANGGRAPH
    seen: set[str] = set()
    async for found in memory.alist({"configurable": {"thread_id": thread_id}}):
        place = found.config["configurable"]
        if (namespace := place.get("checkpoint_ns", "")) in seen:
            continue
        seen.add(namespace)
        at: RunnableConfig = {"configurable": {**settings, "checkpoint_ns": namespace}}
        metadata: Any = remove_unshown(found.metadata, copied)
        stored = await saver.aput(at, found.checkpoint, metadata, found.checkpoint["channel_versions"])
        writes: dict[str, list[tuple[str, Any]]] = {}
        for task_id, channel, value in found.pending_writes or []:
            writes.setdefault(task_id, []).append((channel, value))
        for task_id, of_task in writes.items():
            await saver.aput_writes(stored, of_task, task_id)
