"""Elements of lists as they are stored, and the objects that are made of them."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel

_DATA = frozenset({str, bool, int, float, bytes, type(None), dict, list})
# A version that writes equal values alike: later ones write twice what is the same object only once.
_MARSHAL = 2
# Values that are compared at once. One that differs has its block compared one by one.
_BLOCK = 256
# The approximate bytes that an element takes besides its bytes, which it holds in two more forms.
_OF_AN_ELEMENT = 400


class Loader(NamedTuple):
    """How elements are made from their bytes. Loaders that make the same objects have the same number."""

    number: int
    loads: Callable[[bytes], Any]


class Mark(NamedTuple):
    """What a value holds, all the way down, with the types of all its parts. It stays when the value is changed."""

    kind: type
    content: bytes


def build_mark(value: Any) -> Mark | None:
    """Returns the mark of data, or of a model whose fields are data. None for a value that only its serializer knows."""
    kind = type(value)
    try:
        if kind in _DATA:
            return Mark(kind, marshal.dumps(value, _MARSHAL))
        # Only models have this, and those with private attributes a dictionary in it.
        if getattr(value, "__pydantic_private__", kind) is None and isinstance(value, BaseModel):
            return Mark(kind, marshal.dumps((value.__dict__, value.__pydantic_extra__, None), _MARSHAL))
    except ValueError:
        pass
    return None


class _Made(NamedTuple):
    """What the loader of this number makes of an element: the type and the content of its mark, where it has one."""

    number: int
    kind: type | None
    content: bytes
    # The fields of a model that were given; None where these are all.
    fields_set: frozenset[str] | None


_NOT_MADE = _Made(0, None, b"", None)


class Element:
    """An element as it is stored, shared by all versions that have it. A graph gets an object of its own each time."""

    __slots__ = ("_made", "blob", "text")

    def __init__(self, blob: bytes) -> None:
        """The bytes are those of the serializer."""
        self.blob = blob
        # Its JSON, once somebody has made that: of a value with this mark, by the loader of this number.
        self.text: tuple[int, bytes] | None = None
        # One value, because several threads may make it at the same time.
        self._made = _NOT_MADE

    def get_mark(self, loader: Loader) -> Mark | None:
        """Returns the mark of the object that a graph gets, before it can change that."""
        made = self.decode(loader)
        return None if made.kind is None else Mark(made.kind, made.content)

    def decode(self, loader: Loader) -> _Made:
        """Returns what the loader makes of the element."""
        made = self._made
        if made.number != loader.number:
            value = loader.loads(self.blob)
            kind, content = build_mark(value) or (None, b"")
            made = self._made = _Made(loader.number, kind, content, _find_fields_set(value))
        return made


def estimate_bytes(elements: Sequence[Element]) -> int:
    """Returns the approximate bytes that elements take."""
    return 3 * sum([len(element.blob) for element in elements]) + _OF_AN_ELEMENT * len(elements)


def decode_elements(elements: Sequence[Element], loader: Loader) -> list[Any]:
    """Returns elements as a graph gets them."""
    made = _decode_all(elements, loader)
    contents = iter(marshal.loads(_join_marshalled([content for _, kind, content, _ in made if kind is not None])))
    return [
        loader.loads(element.blob)
        if kind is None
        else next(contents)
        if kind in _DATA
        else _build_model(kind, next(contents), fields_set)
        for element, (_, kind, _, fields_set) in zip(elements, made, strict=True)
    ]


def count_same(values: Sequence[Any], elements: Sequence[Element], loader: Loader) -> int:
    """Returns how many values at the beginning are surely equal to the elements there. It compares many at once."""
    same = 0
    while same < min(len(values), len(elements)) and (count := _count_same_in_block(values, elements, loader, same)) > 0:
        same += count
    return same


def _count_same_in_block(values: Sequence[Any], elements: Sequence[Element], loader: Loader, begin: int) -> int:
    """Returns the number of values of one block, or 0 where one of them differs."""
    end = min(begin + _BLOCK, len(values), len(elements))
    block = values[begin:end]
    made = _decode_all(elements[begin:end], loader)
    kinds = [kind for _, kind, _, _ in made]
    if list(map(type, block)) != kinds:
        return 0
    try:
        contents = [
            one if kind in _DATA else (one.__dict__, one.__pydantic_extra__, one.__pydantic_private__)
            for one, kind in zip(block, kinds, strict=True)
        ]
        is_same = marshal.dumps(contents, _MARSHAL) == _join_marshalled([content for _, _, content, _ in made])
    except ValueError:
        return 0
    return end - begin if is_same else 0


def _decode_all(elements: Sequence[Element], loader: Loader) -> list[_Made]:
    made = [element._made for element in elements]
    if [number for number, _, _, _ in made].count(loader.number) == len(made):
        return made
    return [element.decode(loader) for element in elements]


def _join_marshalled(contents: Sequence[bytes]) -> bytes:
    """Returns the bytes of a list whose elements have these bytes."""
    return b"".join((b"[", len(contents).to_bytes(4, "little"), *contents))


def _find_fields_set(value: Any) -> frozenset[str] | None:
    if not isinstance(value, BaseModel) or value.__pydantic_fields_set__ == value.__dict__.keys():
        return None
    return frozenset(value.__pydantic_fields_set__)


# The slots of a model. Its own `__setattr__` would check the values.
_set_fields, _set_extra, _set_given, _set_private = (
    BaseModel.__dict__[name].__set__
    for name in ("__dict__", "__pydantic_extra__", "__pydantic_fields_set__", "__pydantic_private__")
)


# The fields of a model, its extra ones, and its private ones, which it has none of where it has a mark.
_Content = tuple[dict[str, Any], dict[str, Any] | None, None]


def _build_model(kind: type, content: _Content, fields_set: frozenset[str] | None) -> Any:
    """Returns a model as pydantic's own copies are made, without the work of its constructor."""
    fields, extra, private = content
    made: Any = object.__new__(kind)
    _set_fields(made, fields)
    _set_extra(made, extra)
    _set_given(made, set(fields if fields_set is None else fields_set))
    _set_private(made, private)
    return made
