"""Sends that wait for the next step. LangGraph before 0.5 keeps them beside the channels of a checkpoint."""

from __future__ import annotations

from typing import Any

from gx_runner.checkpoints.version import build_next_version
from gx_runner.graphs.compat import SENDS

# Where a checkpoint has them before it has a channel of them.
_BESIDE = "pending_sends"
# The form of checkpoints in which they are a channel.
_FORM_OF_CHANNEL = 4


def move_sends_to_channel(checkpoint: Any, new_versions: Any) -> tuple[Any, Any]:
    """Returns a checkpoint whose sends are stored as one more channel, with the versions of its new channels."""
    if _BESIDE not in checkpoint:
        return checkpoint, new_versions
    rest = {name: part for name, part in checkpoint.items() if name != _BESIDE}
    if not (sends := checkpoint[_BESIDE]):
        return rest, new_versions
    versions = checkpoint["channel_versions"]
    added = {SENDS: build_next_version(max(map(str, versions.values()), default=None))}
    rest["channel_values"] = {**checkpoint["channel_values"], SENDS: list(sends)}
    rest["channel_versions"] = {**versions, **added}
    return rest, {**new_versions, **added}


def move_sends_beside(checkpoint: Any) -> Any:
    """Returns a checkpoint as the LangGraph has written it; a later one moves them to the channel by itself."""
    if checkpoint.get("v", _FORM_OF_CHANNEL) >= _FORM_OF_CHANNEL:
        return checkpoint
    values, versions = dict(checkpoint["channel_values"]), dict(checkpoint["channel_versions"])
    versions.pop(SENDS, None)
    return {**checkpoint, "channel_values": values, "channel_versions": versions, _BESIDE: values.pop(SENDS, [])}
