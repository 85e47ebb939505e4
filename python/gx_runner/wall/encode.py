"""JSON of any value of a graph, in the form that clients know."""

from __future__ import annotations

import base64
import collections
import dataclasses
import datetime
import decimal
import enum
import functools
import ipaddress
import pathlib
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import orjson
from pydantic import BaseModel

OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY
# Characters of JSON above which a state with fields is long (LONG in run-in-thread.ts).
LONG = 16_000
_NEVER_PLAIN = (list, tuple, dict, set, BaseModel)
_LARGEST_INTEGER = 2**63


def to_json(value: object, form: Callable[[Any], Any] | None = None) -> bytes:
    """Returns the JSON of a value. `form` returns that of objects which JSON does not have, in place of `to_json_form`."""
    try:
        return orjson.dumps(value, default=form or to_json_form, option=OPTIONS)
    except orjson.JSONEncodeError:
        # Texts with half a character and integers of more than 64 bits are rare, and this finds them one by one.
        return orjson.dumps(_convert_plain(value, set(), form or to_json_form), option=OPTIONS)


def is_long(text: bytes) -> bool:
    """Returns whether the JSON of a state is stored as text beside its plain fields."""
    if len(text) <= LONG or not text.startswith(b"{"):
        return False
    # A character of UTF-16 has at most three bytes here.
    return len(text) > 3 * LONG or len(text.decode().encode("utf-16-le")) // 2 > LONG


def encode_plain_fields(state: Mapping[str, object]) -> bytes:
    """Returns, as JSON, the fields of a state that are neither objects nor lists there."""
    texts = {name: to_json(value) for name, value in state.items() if not isinstance(value, _NEVER_PLAIN)}
    return orjson.dumps({name: orjson.Fragment(text) for name, text in texts.items() if text[:1] not in (b"{", b"[")})


def to_json_form(value: Any) -> Any:
    """Returns the form of an object that JSON does not have; None where there is none."""
    return _find_form(type(value))(value)  # type: ignore[arg-type]


@functools.lru_cache(1024)
def _find_form(kind: type) -> Callable[[Any], Any]:
    """Returns how objects of a type are made into something that JSON has."""
    for types, form in _FORMS:
        if issubclass(kind, types):
            return form
    if issubclass(kind, type):
        return lambda _: None
    if issubclass(kind, BaseModel) and not any(name in kind.model_fields or hasattr(kind, name) for name in ("node", "arg")):
        return kind.model_dump
    return _convert_instance


def _convert_instance(value: Any) -> Any:
    if hasattr(value, "node") and hasattr(value, "arg"):
        return {"node": value.node, "args": value.arg}
    for method in ("model_dump", "dict", "_asdict"):
        if callable(made := getattr(value, method, None)):
            return made()
    return list(value) if isinstance(value, tuple) else None


def _convert_decimal(value: decimal.Decimal) -> int | float:
    return int(value) if value.is_finite() and value == value.to_integral_value() else float(value)


_FORMS: tuple[tuple[type | tuple[type, ...], Callable[[Any], Any]], ...] = (
    (BaseException, lambda error: {"error": type(error).__name__, "message": str(error)}),
    ((set, frozenset, collections.deque), list),
    ((datetime.date, datetime.time), lambda moment: moment.isoformat()),
    (uuid.UUID, str),
    (datetime.timedelta, lambda delta: delta.total_seconds()),
    (decimal.Decimal, _convert_decimal),
    ((pathlib.PurePath, ipaddress.IPv4Address, ipaddress.IPv6Address, complex, datetime.tzinfo), str),
    ((ipaddress.IPv4Network, ipaddress.IPv6Network), str),
    (re.Pattern, lambda pattern: pattern.pattern),
    ((bytes, bytearray, memoryview), lambda data: base64.b64encode(data).decode()),
    (str, lambda text: text.encode(errors="replace").decode()),
    (int, str),
    (float, float),
    (Mapping, dict),
)
_PLAIN = {type(None), bool, float, uuid.UUID, datetime.date, datetime.datetime, datetime.time}


def _is_plain(value: Any) -> bool:
    """Returns whether orjson takes a value as it is: it takes no classes of these kinds, and times without a zone alone."""
    return type(value) in _PLAIN and (type(value) is not datetime.time or value.tzinfo is None)


def _convert_plain(value: Any, within: set[int], form: Callable[[Any], Any]) -> Any:
    """Returns the value with all that orjson refuses in another form."""
    if _is_plain(value):
        return value
    if isinstance(value, enum.Enum):
        return _convert_plain(value.value, within, form)
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, int):
        return value if -_LARGEST_INTEGER <= value < _LARGEST_INTEGER else str(value)
    if id(value) in within:
        raise ValueError("The value is circular, so it has no JSON.")
    within = within | {id(value)}
    if isinstance(value, dict):
        return {_convert_key(key): _convert_plain(one, within, form) for key, one in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_asdict"):
        return [_convert_plain(one, within, form) for one in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _convert_plain(getattr(value, field.name), within, form) for field in dataclasses.fields(value)}
    return _convert_plain(form(value), within, form)


def _convert_key(key: Any) -> Any:
    """Returns a key that orjson takes: a tuple, a set or an object becomes its text, as Python prints it."""
    if isinstance(key, enum.Enum):
        return _convert_key(key.value)
    if _is_plain(key):
        return key
    return str(key).encode(errors="replace").decode()
