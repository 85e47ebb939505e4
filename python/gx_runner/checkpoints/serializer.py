"""How values of states become bytes, and which classes are made of bytes again."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import importlib
import importlib.util
import inspect
import pathlib
import sys
import uuid
import zoneinfo
from collections.abc import Collection
from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from gx_runner.graphs.compat import unpack_hook
from gx_runner.graphs.modules import LoadError

_CLASSES = "allowed_msgpack_modules"
_LISTS = ("allowed_json_modules", _CLASSES)
# The kinds of classes of which LangGraph writes values, by their base or by what it calls to write them.
_KINDS = (
    *(enum.Enum, set, frozenset, collections.deque, decimal.Decimal, uuid.UUID, pathlib.Path, zoneinfo.ZoneInfo),
    *(datetime.date, datetime.time, datetime.timedelta),
)
_WRITTEN_BY = ("model_dump", "dict", "get_secret_value", "_asdict")

# A module, and the name of a class in it.
Place = tuple[str, ...]


class Classes:
    """The classes of which stored values are made again."""

    def __init__(self, named: Collection[Place], *, with_data: bool) -> None:
        """Besides the named ones these are, `with_data`, all classes of data in the packages that the project uses."""
        self._named = set(named)
        self._with_data = with_data
        self._found: set[Place] = set()

    def __contains__(self, place: Any) -> bool:
        if place in self._named or place in self._found:
            return True
        if not self._with_data or not _is_data(*place):
            return False
        self._found.add(place)
        return True

    def add(self, classes: Collection[Place | type]) -> None:
        """Adds the classes that the state of a graph names."""
        if not self._named.issuperset(classes):
            self._named.update((one.__module__, one.__name__) if isinstance(one, type) else one for one in classes)

    @property
    def names(self) -> frozenset[Place]:
        """Returns the named ones."""
        return frozenset(self._named)


def _is_data(module: str, name: str) -> bool:
    """Returns whether this is a class that holds data. A function, or any other class, could do anything when it is called.

    Whoever writes to the database chooses the name, so nothing is imported that may be no more than a script.
    """
    try:
        if module.endswith("__main__") or not _is_to_import(module.split(".")[0]):
            return False
        found = getattr(importlib.import_module(module), name, None)
    except Exception:
        return False
    if not isinstance(found, type):
        return False
    is_written = any(callable(getattr(found, name, None)) for name in _WRITTEN_BY)
    return issubclass(found, _KINDS) or dataclasses.is_dataclass(found) or is_written


def _is_to_import(top: str) -> bool:
    """Returns whether a module or package is in use, or is a package with an __init__, which a node may import later."""
    if top in sys.modules or top in sys.stdlib_module_names:
        return top in sys.modules
    spec = importlib.util.find_spec(top)
    return spec is not None and spec.origin is not None and spec.submodule_search_locations is not None


class Serializer(JsonPlusSerializer):
    """LangGraph's serializer. All graphs of a process share it: a class that the state of one names is known to all."""

    def __init__(self, classes: Classes, hook: Any, **given: Any) -> None:
        """The hook makes values of these classes."""
        super().__init__(**given, __unpack_ext_hook__=hook)
        self.classes = classes

    def with_msgpack_allowlist(self, extra_allowlist: Any) -> Serializer:
        """Adds the classes of a state. With another serializer, LangGraph would copy the saver at each call of a graph."""
        self.classes.add(extra_allowlist)
        return self


def build_serializer(settings: dict[str, Any] | None) -> JsonPlusSerializer:
    """Returns LangGraph's serializer with what `checkpointer.serde` of gx.json says, and its defaults for the rest.

    Raises `LoadError` where the project's LangGraph does not know a setting.
    """
    given = {name: _parse_classes(value) if name in _LISTS else value for name, value in (settings or {}).items()}
    known = inspect.signature(JsonPlusSerializer).parameters
    for name in given:
        if name not in known:
            sentence = "is not known to the langgraph-checkpoint that is installed: use a newer one."
            raise LoadError(f'"checkpointer.serde.{name}" {sentence}')
    classes = Classes([] if given.get(_CLASSES) is True else given.get(_CLASSES) or [], with_data=_CLASSES not in given)
    hook = unpack_hook(classes)
    if given.get(_CLASSES) is True or hook is None:
        return JsonPlusSerializer(**given)
    return Serializer(classes, hook, **given)


def _parse_classes(value: Any) -> Any:
    """Returns classes as LangGraph takes them: each as its module and its name. False means none, as null does."""
    if value is False:
        return None
    return [tuple(one) for one in value] if isinstance(value, list) else value
