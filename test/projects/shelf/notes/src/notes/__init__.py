"""Notes of what people say."""

from notes.graph import graph

__all__ = ["graph"]
