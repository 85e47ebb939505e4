"""The context of a run: fields that a client gives, and the class that a graph declares for them."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

Fields = dict[str, Any]


def fields_for(schema: Any, given: Fields) -> Fields:
    """Returns the fields that the class takes. A run has more, because its settings have two names."""
    if dataclasses.is_dataclass(schema):
        names = {one.name for one in dataclasses.fields(schema) if one.init}
        return {name: value for name, value in given.items() if name in names}
    if _is_model(schema) and schema.model_config.get("extra") == "forbid":
        aliases = {one.validation_alias or one.alias for one in schema.model_fields.values()}
        # An alias of several names is as pydantic says; then the class decides for itself.
        if all(alias is None or isinstance(alias, str) for alias in aliases):
            return {name: value for name, value in given.items() if name in aliases or name in schema.model_fields}
    return given


def made_for(schema: Any, given: Fields) -> Any:
    """Returns the context as an object of the class, with its defaults, as LangGraph makes it for nodes."""
    fields = fields_for(schema, given)
    return schema(**fields) if dataclasses.is_dataclass(schema) or _is_model(schema) else fields


def class_in_runtime(function: Callable[..., Any], parameter: str, annotation: Any) -> Any:
    """Returns the class that `ServerRuntime[...]` names for a parameter; None where it names none."""
    if isinstance(annotation, str):
        try:
            annotation = typing.get_type_hints(function).get(parameter)
        except Exception:
            return None
    return next(iter(typing.get_args(annotation)), None)


def _is_model(schema: Any) -> bool:
    return isinstance(schema, type) and issubclass(schema, BaseModel)
