"""The handlers of `encryption.path`: an `Encryption` object of langgraph_sdk, which encrypts and decrypts stored values.

Values have the same stored form as with a module in JavaScript (src/agent/encryption/user-module.ts), whatever the
language of the module that reads them: an object by key, bytes, or a value under the one key of an object.
"""

from __future__ import annotations

import base64
import copy
import json
import logging
from typing import Any

import orjson

from gx_runner.graphs.compat import EncryptionHandlers, read_encryption_handlers
from gx_runner.graphs.modules import LoadError
from gx_runner.graphs.user import User
from gx_runner.user_code.encryption_calls import BY_KEY, Calls, Json, Made, Trial, Value, require_bytes, require_object
from gx_runner.user_code.inner_records import (
    Path,
    find_value_at,
    format_place,
    list_inner_records,
    list_inner_values,
    replace_value_at,
)
from gx_runner.wall.failures import ProblemError

# Fields of LangGraph's metadata that SQL and LangGraph itself look for.
_OF_CHECKPOINTS = {"source", "step", "parents", "counters_since_delta_snapshot"}
# Names that the server looks for in metadata and configs (isSystemName in src/config/agent/encryption.ts).
_OF_SERVER = {
    "assistant_id",
    "checkpoint_id",
    "checkpoint_ns",
    "configurable",
    "created_by",
    "graph_id",
    "recursion_limit",
    "run_attempt",
    "run_id",
    "thread_id",
}
# The first byte of sealed bytes: made by `blob`, or JSON that `json` made of their base64.
_BY_BLOB = b"\x01"
_BY_JSON = b"\x02"
_BLOB = "decrypt.blob"
_JSON = "decrypt.json"
_log = logging.getLogger("gx_runner")


class Cipher:
    """The handlers of one `Encryption` object. Raises `LoadError` when it is none, or would leave gaps."""

    def __init__(self, exported: Any, at: str, seconds: float) -> None:
        handlers = read_encryption_handlers(exported)
        if handlers is None:
            raise LoadError(f"encryption.path: {at} is no Encryption object of langgraph_sdk.")
        if (gap := _find_gap(handlers)) is not None:
            raise LoadError(f"encryption.path: {at} {gap}.")
        self._calls = Calls(handlers, seconds)
        self._warned: set[str] = set()
        self.derives = handlers.context is not None
        self.encrypts = handlers.encrypt_blob is not None or handlers.encrypt_json is not None

    async def answer(self, call: Json, blobs: bytes) -> str | bytes:
        """Returns the answer to an operation on a value: text for text, and bytes for bytes."""
        does, value = call["does"], Value(call["of"], call.get("context") or {})
        if does == "replaces":
            return "true" if self._calls.take_replacement_wish() else "false"
        if does == "replace":
            if "bytes" in call:
                return await self._reseal_bytes(value, blobs)
            return _encode_json(await self._reseal(value, _parse_json(call["text"])))
        if "bytes" in call:
            return await (self._seal_bytes(value, blobs) if does == "seal" else self._open_bytes(value, blobs))
        if does in ("try", "try-keys"):
            return await self._try_sealing(value._replace(trial=Trial()), _parse_json(call["text"]), does == "try")
        if does == "seal-keys":
            return _encode_json(await self._seal_keys(value, _parse_json(call["text"])))
        if does == "seal":
            return _encode_json(await self._seal(value, call["text"]))
        return await self._open(value, _parse_json(call["text"]))

    async def derive_context(self, question: Json) -> Json:
        """Returns the context of a request, which the handler derives from the user and the context that it brings."""
        return {"metadata": await self._calls.derive_context(User(question["user"]), question["metadata"])}

    async def _seal(self, value: Value, text: str) -> Json:
        is_object = text.startswith("{")
        if self._calls.is_for_blob(value.of, is_object):
            return {"blob": base64.b64encode(await self._calls.call_blob("encrypt", value, text.encode())).decode()}
        if is_object and value.of in BY_KEY:
            return await self._seal_by_key(value, _parse_json(text))
        return {"one": await self._calls.call_json("encrypt", value, {value.field: _parse_json(text)})}

    async def _seal_by_key(self, value: Value, given: Json) -> Json:
        """Encrypts an object by key, and then the parts of it that the handler left and that have fields of their own."""
        # The handler may change what it is given in place.
        made = await self._calls.call_json("encrypt", value, copy.deepcopy(given))
        # A record with other keys is the handler's own form of it.
        places = [
            path
            for path in list_inner_records(value.of, made)
            if _has_same_keys(find_value_at(made, path), find_value_at(given, path))
        ]
        inner: list[Path] = []
        for path in places:
            record = find_value_at(made, path)
            before = _encode_json(record)
            sealed = await self._calls.call_json("encrypt", _build_inner(value, path), copy.deepcopy(record))
            if _encode_json(sealed) != before:
                inner.append(path)
                made = replace_value_at(made, path, sealed)
        apart = [
            path for path in list_inner_values(value.of, made) if find_value_at(made, path) == find_value_at(given, path)
        ]
        for path in apart:
            made = replace_value_at(
                made, path, await self._seal(_build_inner(value, path), _encode_json(find_value_at(made, path)))
            )
        return {"json": made, **({"inner": inner} if inner else {}), **({"apart": apart} if apart else {})}

    async def _open_by_key(self, value: Value, body: Json) -> Json:
        opened = body.get("json", {})
        for path in body.get("inner") or []:
            record = await self._calls.call_json("decrypt", _build_inner(value, path), find_value_at(opened, path))
            opened = replace_value_at(opened, path, record)
        for path in body.get("apart") or []:
            opened = replace_value_at(
                opened, path, _parse_json(await self._open(_build_inner(value, path), find_value_at(opened, path)))
            )
        return await self._calls.call_json("decrypt", value, opened)

    async def _try_sealing(self, value: Value, given: Any, is_whole: bool) -> str:
        """Encrypts a value and decrypts it again.

        Raises `ProblemError` where that fails or gives another value, unless a handler wants a context, which a trial lacks.
        """
        try:
            if is_whole:
                again = _parse_json(
                    await self._open(value, _parse_json(_encode_json(await self._seal(value, _encode_json(given)))))
                )
            else:
                keys = _parse_json(_encode_json(await self._seal_keys(value, dict(given))))
                again = {
                    **given,
                    **{name: _parse_json(await self._open(value, {"one": {name: part}})) for name, part in keys.items()},
                }
        except ProblemError:
            if value.trial is not None and value.trial.needs_context:
                return "true"
            raise
        if again != given:
            sentence = f"decrypt did not return the value that encrypt was given for {value.of}."
            raise ProblemError(500, f"encryption.path: {sentence}")
        return "true"

    async def _open(self, value: Value, body: Json) -> str:
        if "blob" in body:
            opened = await self._calls.call_blob("decrypt", value, base64.b64decode(body["blob"]))
            return _read_json(opened, value.of)
        if "one" in body:
            return _encode_json(next(iter((await self._calls.call_json("decrypt", value, body["one"])).values())))
        return _encode_json(await self._open_by_key(value, body))

    async def _seal_bytes(self, value: Value, data: bytes) -> bytes:
        if self._calls.is_for_blob(value.of, False):
            return _BY_BLOB + await self._calls.call_blob("encrypt", value, data)
        text = _encode_json(base64.b64encode(data).decode())
        return _BY_JSON + _encode_json(await self._seal(value, text)).encode()

    async def _open_bytes(self, value: Value, data: bytes) -> bytes:
        if data[:1] == _BY_BLOB:
            return await self._calls.call_blob("decrypt", value, data[1:])
        return base64.b64decode(_parse_json(await self._open(value, _parse_json(data[1:].decode()))))

    async def _seal_keys(self, value: Value, record: Json) -> Json:
        """Returns the values of the keys that the handler changed. It does not see those that the server searches by."""
        shown = {name: part for name, part in record.items() if part is not None and not _is_ours(name, value.of)}
        if not shown or not self._calls.has_json:
            return {}
        # The handler may change what it is given in place.
        before = {name: _encode_json(part) for name, part in shown.items()}
        made = await self._calls.call_json("encrypt", value, shown)
        return {name: part for name, part in made.items() if _encode_json(part) != before[name]}

    async def _reseal(self, value: Value, body: Json) -> Json | None:
        """Returns the stored form that the module wants in place of one; None where that stays."""
        if "blob" in body:
            other = await self._reseal_blob(value, base64.b64decode(body["blob"]))
            return None if other is None else {"blob": base64.b64encode(other).decode()}
        if body.get("inner") or body.get("apart"):
            return await self._reseal_by_key(value, body)
        name = "one" if "one" in body else "json"
        objects = await self._reseal_object(value, body.get(name, {}))
        return None if objects is None else {name: objects}

    async def _reseal_by_key(self, value: Value, body: Json) -> Json | None:
        """Encrypts an object again whose records are encrypted, too: its parts stand within one another."""
        own = copy.copy(self)
        own._calls = self._calls.clone()
        opened = await own._open_by_key(value, body)
        if not own._calls.take_replacement_wish():
            return None
        other = {"inner": [], "apart": [], **await self._seal_by_key(value, opened)}
        again = await self._open_by_key(value, other)
        return other if other != body and self._is_same(Made(opened, None), Made(again, None), _JSON) else None

    async def _reseal_bytes(self, value: Value, data: bytes) -> bytes:
        if data[:1] == _BY_BLOB:
            other = await self._reseal_blob(value, data[1:])
            return b"" if other is None else _BY_BLOB + other
        body = await self._reseal(value, _parse_json(data[1:].decode()))
        return b"" if body is None else _BY_JSON + _encode_json(body).encode()

    async def _reseal_blob(self, value: Value, stored: bytes) -> bytes | None:
        made = await self._calls.call_blob_unchecked("decrypt", value, stored)
        if made.replacement is None:
            return None
        other = require_bytes(made.replacement, _BLOB, value.of)
        if other == stored:
            return None
        again = await self._calls.call_blob_unchecked("decrypt", value, other)
        return other if self._is_same(made, again, _BLOB) else None

    async def _reseal_object(self, value: Value, stored: Json) -> Json | None:
        # The handler may change what it is given in place.
        made = await self._calls.call_json_unchecked("decrypt", value, copy.deepcopy(stored))
        if made.replacement is None:
            return None
        other = require_object(made.replacement, _JSON, value.of, list(stored))
        again = await self._calls.call_json_unchecked("decrypt", value, copy.deepcopy(other))
        return other if other != stored and self._is_same(made, again, _JSON) else None

    def _is_same(self, made: Made, again: Made, name: str) -> bool:
        """A value that is decrypted to something else would be lost."""
        if made.plaintext == again.plaintext:
            return True
        if name not in self._warned:
            self._warned.add(name)
            _log.warning("a replacement of %s is decrypted to another value, so the value before it stays", name)
        return False


def _find_gap(handlers: EncryptionHandlers) -> str | None:
    """Returns what the module lacks, if it would encrypt values that it can't decrypt, or has nothing."""
    if handlers.decrypt_blob is None and handlers.decrypt_json is None:
        return "has no handlers that decrypt: register decrypt.blob, decrypt.json or both"
    if handlers.encrypt_blob is not None and handlers.decrypt_blob is None:
        return "has encrypt.blob without decrypt.blob"
    if handlers.encrypt_json is not None and handlers.decrypt_json is None:
        return "has encrypt.json without decrypt.json"
    return None


def _build_inner(value: Value, path: Path) -> Value:
    return value._replace(of=format_place(value.of, path))


def _has_same_keys(one: Any, other: Any) -> bool:
    return isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys()


def _is_ours(name: str, of: str) -> bool:
    is_of_checkpoint = of.startswith("checkpoint.") and name in _OF_CHECKPOINTS
    return is_of_checkpoint or name in _OF_SERVER or name.startswith("langgraph_")


def _parse_json(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        # A text of JavaScript may have half a character, which orjson does not read.
        return json.loads(text)


def _encode_json(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return json.dumps(value, allow_nan=False)


def _read_json(opened: bytes, of: str) -> str:
    """Returns the text in the bytes. Raises `ProblemError` where they are none of those that were encrypted."""
    try:
        text = opened.decode()
        _parse_json(text)
    except ValueError:
        sentence = f"decrypt.blob returned something else for {of} than encrypt.blob was given."
        raise ProblemError(500, f"encryption.path: {sentence}") from None
    return text
