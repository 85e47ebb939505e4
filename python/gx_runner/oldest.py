"""The oldest LangGraph that is served. It is asked for before anything of LangGraph is imported."""

from __future__ import annotations

import importlib.metadata

# The server names it with the command that brings a newer one (src/agent/graphs/python.ts).
OLDEST = (0, 4)


def find_older_langgraph() -> str | None:
    """Returns the version of LangGraph that is installed, if it is too old."""
    try:
        version = importlib.metadata.version("langgraph")
        return version if tuple(int(part) for part in version.split(".")[:2]) < OLDEST else None
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return None
