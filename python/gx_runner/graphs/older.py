"""What LangGraph before 0.6 names otherwise. No other file asks for these names."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt


def read_context_schema(graph: Any) -> Any:
    """Returns the class of a run's context, or of the settings in `configurable` that it was before."""
    return graph.context_schema if hasattr(graph, "context_schema") else getattr(graph, "config_type", None)


def list_context_ways(graph: Any) -> list[Callable[[], Any]]:
    """Returns the graph's own way to the JSON Schema of its context; none where it has settings in its place."""
    return [graph.get_context_jsonschema] if hasattr(graph, "get_context_jsonschema") else []


def build_durability(graph: Any, durability: str) -> dict[str, Any]:
    """Returns the keyword that says when a call of the graph stores its checkpoints: it was yes or no before."""
    if _takes_durability(type(graph).astream):
        return {"durability": durability}
    return {"checkpoint_during": durability != "exit"}


@functools.cache
def _takes_durability(stream: Callable[..., Any]) -> bool:
    parameters = inspect.signature(stream).parameters
    return "durability" in parameters or "checkpoint_during" not in parameters


def read_interrupt_id(interrupt: Interrupt) -> str:
    """Returns the id by which a question is answered; it was made of the place of the question before."""
    found: str = interrupt.id if hasattr(interrupt, "id") else interrupt.interrupt_id
    return found


def build_interrupt(value: Any, interrupt_id: str) -> GraphInterrupt | None:
    """Returns the error by which a node asks a question with an id of its own; None where LangGraph chooses the id."""
    try:
        return GraphInterrupt((Interrupt(value=value, id=interrupt_id),))
    except TypeError:
        return None
