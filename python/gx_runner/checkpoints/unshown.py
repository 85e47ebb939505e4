"""Settings that stay out of metadata and events.

The context of a run may hold secrets, such as a token. Graphs find it among their settings, too, which LangGraph copies
to the metadata of each checkpoint and event; they are left out where those leave the graph.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

# The name in `configurable` under which a run's checkpointer finds the names that stay out of metadata.
UNSHOWN = "__gx_unshown"


def remove_unshown(fields: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Returns the fields without those."""
    return {name: value for name, value in fields.items() if name not in names}
