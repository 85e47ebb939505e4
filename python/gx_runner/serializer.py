"""How values of states become bytes, and which classes are made of bytes again."""

from __future__ import annotations

import inspect
from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from gx_runner.modules import LoadError

_LISTS = ("allowed_json_modules", "allowed_msgpack_modules")


def serializer_of(settings: dict[str, Any] | None) -> JsonPlusSerializer:
    """Returns LangGraph's serializer with what `checkpointer.serde` of gx.json says, and its defaults for the rest.

    Raises `LoadError` where the project's LangGraph does not know a setting.
    """
    given = {name: _classes(value) if name in _LISTS else value for name, value in (settings or {}).items()}
    known = inspect.signature(JsonPlusSerializer).parameters
    for name in given:
        if name not in known:
            sentence = "is not known to the langgraph-checkpoint that is installed: use a newer one."
            raise LoadError(f'"checkpointer.serde.{name}" {sentence}')
    return JsonPlusSerializer(**given)


def _classes(value: Any) -> Any:
    """Returns classes as LangGraph takes them: each as its module and its name. False means none, as null does."""
    if value is False:
        return None
    return [tuple(one) for one in value] if isinstance(value, list) else value
