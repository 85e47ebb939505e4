"""The context of a run: fields that a client gives, and the class that a graph declares for them."""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

Fields = dict[str, Any]


def pick_fields(schema: Any, given: Fields) -> Fields:
    """Returns the fields that the class takes. A run has more, because its settings have two names."""
    if dataclasses.is_dataclass(schema):
        names = {one.name for one in dataclasses.fields(schema) if one.init}
        return {name: value for name, value in given.items() if name in names}
    if _is_model(schema) and schema.model_config.get("extra") != "allow":
        aliases = {one.validation_alias or one.alias for one in schema.model_fields.values()}
        # An alias of several names is as pydantic says; then the class decides for itself.
        if all(alias is None or isinstance(alias, str) for alias in aliases):
            return {name: value for name, value in given.items() if name in aliases or name in schema.model_fields}
    return given


class _Fields:
    """Gives fields by items as well: the SDK documents objects, and other servers give factories dictionaries."""

    def __getitem__(self, name: str) -> Any:
        if name not in self.keys():
            raise KeyError(name)
        return getattr(self, name)

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self.keys() else default

    def keys(self) -> list[str]:
        if dataclasses.is_dataclass(self):
            return [field.name for field in dataclasses.fields(self)]
        return list(vars(self))


@functools.cache
def _add_items(schema: type) -> type:
    return type(schema.__name__, (schema, _Fields), {"__module__": schema.__module__, "__doc__": schema.__doc__})


def build_context(schema: Any, given: Fields) -> Any:
    """Returns the context that a factory is given: an object of its class with the defaults, or else the fields.

    They stay a dictionary where one is missing: the graph fails by its name, if it needs a context at all.
    """
    if not isinstance(schema, type) or not (dataclasses.is_dataclass(schema) or _is_model(schema)):
        return given
    try:
        return _add_items(schema)(**pick_fields(schema, given))
    except (TypeError, ValueError):
        return given


def find_context_class(function: Callable[..., Any], parameter: str, annotation: Any) -> Any:
    """Returns the class that `ServerRuntime[...]` names for a parameter; None where it names none."""
    if isinstance(annotation, str):
        try:
            annotation = typing.get_type_hints(function).get(parameter)
        except Exception:
            return None
    return next(iter(typing.get_args(annotation)), None)


def _is_model(schema: Any) -> bool:
    return isinstance(schema, type) and issubclass(schema, BaseModel)
