"""Checkpoints of subgraphs, at which a run begins by a map: namespace -> id, for each graph from the thread's down to it.

Without the map LangGraph begins at the end of the thread, where there may be nothing to do.
"""

from __future__ import annotations

from typing import Any

from gx_runner.checkpoints.saver import Saver
from gx_runner.wall.failures import ProblemError

_MISSING = "checkpoint.checkpoint_map: is missing, and the checkpoint of the subgraph does not say where its thread was."


def build_map(place: dict[str, Any], metadata: Any) -> dict[str, Any]:
    """Returns the map of a checkpoint, whose metadata name those of the graphs around it; none at the thread's own graph."""
    namespace, parents = place.get("checkpoint_ns"), (metadata or {}).get("parents")
    if not namespace or not parents:
        return {}
    return {"checkpoint_map": {**parents, namespace: place.get("checkpoint_id")}}


async def complete_checkpoint(config: dict[str, Any], saver: Saver) -> dict[str, Any]:
    """Returns the call with the map of the subgraph's checkpoint that it names without one.

    Raises where nothing says what the thread was then.
    """
    place = config["configurable"]
    names = ("thread_id", "checkpoint_ns", "checkpoint_id")
    thread_id, namespace, checkpoint_id = (place.get(name) for name in names)
    if not namespace or not checkpoint_id or place.get("checkpoint_map"):
        return config
    last_of_graph = {"thread_id": thread_id, "checkpoint_ns": namespace}
    found = await saver.aget_tuple({"configurable": {**last_of_graph, "checkpoint_id": checkpoint_id}})
    made = build_map(place, found.metadata if found else None)
    if not made:
        raise ProblemError(400, _MISSING)
    last = await saver.aget_tuple({"configurable": last_of_graph})
    end = await saver.aget_tuple({"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}})
    # The thread waits within the subgraph, so its end is there, with what was written into it by hand. By a map,
    # LangGraph would begin the subgraph anew.
    is_end = (
        last and end and last.checkpoint["id"] == checkpoint_id and end.checkpoint["id"] == made["checkpoint_map"].get("")
    )
    return config if is_end else {**config, "configurable": {**place, **made}}
