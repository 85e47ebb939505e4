"""Elements of lists as they are stored, and the objects that are made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from pydantic import BaseModel

_LEAVES = frozenset({str, bool, int, bytes, type(None)})
_UNMADE = object()
# The approximate bytes that an object takes besides its text.
_OF_AN_OBJECT = 1500
_OF_A_LEAF = 64
_SHORT = 16


class Loader(NamedTuple):
    """How elements are made from their bytes. Loaders that make the same objects have the same number."""

    number: int
    loads: Callable[[bytes], Any]


class Element:
    """An element as it is stored, shared by all versions that have it.

    A graph gets an object made from it, never its own, because it may change that.
    """

    __slots__ = ("_by", "_is_plain", "_pristine", "blob")

    def __init__(self, blob: bytes) -> None:
        """The bytes are those of the serializer."""
        self.blob = blob
        self._pristine: Any = _UNMADE
        self._by = 0
        self._is_plain = False

    @property
    def weight(self) -> int:
        """Returns the approximate bytes that the element takes."""
        return 2 * len(self.blob) + (_OF_A_LEAF if len(self.blob) < _SHORT else _OF_AN_OBJECT)

    def live(self, loader: Loader) -> Any:
        """Returns the element as a graph gets it."""
        pristine = self._made(loader)
        return copied(pristine) if self._is_plain else loader.loads(self.blob)

    def holds(self, value: Any, loader: Loader) -> bool:
        """Returns true when the value surely equals the stored one, so that it would be written alike."""
        return same(value, self._made(loader))

    def _made(self, loader: Loader) -> Any:
        if self._pristine is _UNMADE or self._by != loader.number:
            made = loader.loads(self.blob)
            self._is_plain = is_plain(made)
            self._pristine, self._by = made, loader.number
        return self._pristine


def same(one: Any, other: Any) -> bool:
    """Returns true when two values hold the same, all the way down. Objects that can't be compared differ."""
    kind = type(one)
    if kind is not type(other):
        return False
    if kind in _LEAVES:
        return bool(one == other)
    if kind is float:
        # 0.0 equals -0.0, and no NaN equals itself.
        return repr(one) == repr(other)
    if kind is dict:
        return _same_fields(one, other)
    if kind is list or kind is tuple:
        return len(one) == len(other) and all(a is b or same(a, b) for a, b in zip(one, other, strict=True))
    return isinstance(one, BaseModel) and _same_models(one, other)


def _same_fields(one: dict[Any, Any], other: dict[Any, Any]) -> bool:
    if len(one) != len(other):
        return False
    for (name, value), (other_name, other_value) in zip(one.items(), other.items(), strict=True):
        if name is not other_name and not same(name, other_name):
            return False
        if value is not other_value and not same(value, other_value):
            return False
    return True


def _same_models(one: BaseModel, other: BaseModel) -> bool:
    return (
        _same_fields(one.__dict__, other.__dict__)
        and same(one.__pydantic_extra__, other.__pydantic_extra__)
        and same(one.__pydantic_private__, other.__pydantic_private__)
    )


def is_plain(value: Any) -> bool:
    """Returns whether `copied` copies the value: data, and models without anything of their own beside their fields."""
    kind = type(value)
    if kind in _LEAVES or kind is float:
        return True
    if kind is dict:
        return all(type(name) in _LEAVES and is_plain(one) for name, one in value.items())
    if kind is list:
        return all(map(is_plain, value))
    if not isinstance(value, BaseModel) or value.__pydantic_private__ is not None:
        return False
    return is_plain(value.__dict__) and (value.__pydantic_extra__ is None or is_plain(value.__pydantic_extra__))


def copied(value: Any) -> Any:
    """Returns a value like a plain one, which shares nothing that can be changed."""
    kind = type(value)
    if kind in _LEAVES or kind is float:
        return value
    if kind is dict:
        return {name: one if type(one) in _LEAVES else copied(one) for name, one in value.items()}
    if kind is list:
        return [one if type(one) in _LEAVES else copied(one) for one in value]
    made = object.__new__(kind)
    fields = {name: one if type(one) in _LEAVES else copied(one) for name, one in value.__dict__.items()}
    object.__setattr__(made, "__dict__", fields)
    object.__setattr__(made, "__pydantic_fields_set__", set(value.__pydantic_fields_set__))
    object.__setattr__(made, "__pydantic_extra__", copied(value.__pydantic_extra__))
    object.__setattr__(made, "__pydantic_private__", None)
    return made
