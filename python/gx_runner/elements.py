"""Elements of lists as they are stored, and the objects that are made of them."""

from __future__ import annotations

import marshal
from collections.abc import Callable
from typing import Any, NamedTuple

from pydantic import BaseModel

_DATA = frozenset({str, bool, int, float, bytes, type(None), dict, list})
# A version that writes equal values alike: later ones write twice what is the same object only once.
_MARSHAL = 2
# The approximate bytes that an element takes besides its text, and in which it is held a second time.
_OF_AN_ELEMENT = 400


class Loader(NamedTuple):
    """How elements are made from their bytes. Loaders that make the same objects have the same number."""

    number: int
    loads: Callable[[bytes], Any]


class Mark(NamedTuple):
    """What a value holds, all the way down, with the types of all its parts. It stays when the value is changed."""

    kind: type
    content: bytes


def mark_of(value: Any) -> Mark | None:
    """Returns the mark of data, or of a model whose fields are data. None for a value that only its serializer knows."""
    kind = type(value)
    try:
        if kind in _DATA:
            return Mark(kind, marshal.dumps(value, _MARSHAL))
        # Only models have this, and those with private attributes a dictionary in it.
        if getattr(value, "__pydantic_private__", kind) is None and isinstance(value, BaseModel):
            return Mark(kind, marshal.dumps((value.__dict__, value.__pydantic_extra__), _MARSHAL))
    except ValueError:
        pass
    return None


class _Made(NamedTuple):
    """What the loader of this number makes of an element."""

    number: int
    mark: Mark | None
    # The fields of a model that were given; None where these are all.
    fields_set: frozenset[str] | None


_NOT_MADE = _Made(0, None, None)


class Element:
    """An element as it is stored, shared by all versions that have it. A graph gets an object of its own each time."""

    __slots__ = ("_made", "blob")

    def __init__(self, blob: bytes) -> None:
        """The bytes are those of the serializer."""
        self.blob = blob
        # One value, because several threads may make it at the same time.
        self._made = _NOT_MADE

    @property
    def weight(self) -> int:
        """Returns the approximate bytes that the element takes."""
        return 2 * len(self.blob) + _OF_AN_ELEMENT

    def mark(self, loader: Loader) -> Mark | None:
        """Returns the mark of the object that a graph gets, before it can change that."""
        return self._by(loader).mark

    def live(self, loader: Loader) -> Any:
        """Returns the element as a graph gets it."""
        _, mark, fields_set = self._by(loader)
        if mark is None:
            return loader.loads(self.blob)
        content = marshal.loads(mark.content)
        return content if mark.kind in _DATA else _model(mark.kind, content, fields_set)

    def _by(self, loader: Loader) -> _Made:
        made = self._made
        if made.number != loader.number:
            value = loader.loads(self.blob)
            made = self._made = _Made(loader.number, mark_of(value), _fields_set(value))
        return made


def _fields_set(value: Any) -> frozenset[str] | None:
    if not isinstance(value, BaseModel) or value.__pydantic_fields_set__ == value.__dict__.keys():
        return None
    return frozenset(value.__pydantic_fields_set__)


def _model(kind: type, content: tuple[dict[str, Any], dict[str, Any] | None], fields_set: frozenset[str] | None) -> Any:
    """Returns a model as pydantic's own copies are made, without the work of its constructor."""
    made: Any = object.__new__(kind)
    object.__setattr__(made, "__dict__", content[0])
    object.__setattr__(made, "__pydantic_extra__", content[1])
    object.__setattr__(made, "__pydantic_fields_set__", set(content[0] if fields_set is None else fields_set))
    object.__setattr__(made, "__pydantic_private__", None)
    return made
