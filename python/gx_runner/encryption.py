"""The handlers of `encryption.path`: an `Encryption` object of langgraph_sdk, which encrypts and decrypts stored values.

Values have the same stored form as with a module in JavaScript (src/agent/encryption/user-module.ts), whatever the
language of the module that reads them: an object by key, bytes, or a value under the one key of an object.
"""

from __future__ import annotations

import asyncio
import base64
import copy
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple

import orjson

from gx_runner.compat import EncryptionHandlers, encryption_handlers
from gx_runner.failures import ProblemError
from gx_runner.modules import LoadError
from gx_runner.user import User

Json = dict[str, Any]
Word = Literal["encrypt", "decrypt"]

# Fields whose objects go to `json` first, so that it may leave some keys as they are.
_BY_KEY = {"run.kwargs", "thread.values", "cron.payload", "cron.owner", "store.value"}
# Fields of LangGraph's metadata that SQL and LangGraph itself look for.
_OF_CHECKPOINTS = {"source", "step", "parents", "counters_since_delta_snapshot"}
# Names that the server looks for in metadata and configs (isSystemName in src/config/encryption.ts).
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
        handlers = encryption_handlers(exported)
        if handlers is None:
            raise LoadError(f"encryption.path: {at} is no Encryption object of langgraph_sdk.")
        if (gap := _gap(handlers)) is not None:
            raise LoadError(f"encryption.path: {at} {gap}.")
        self._calls = _Calls(handlers, seconds)
        self._warned: set[str] = set()
        self.derives = handlers.context is not None
        self.encrypts = handlers.encrypt_blob is not None or handlers.encrypt_json is not None

    async def answer(self, call: Json, blobs: bytes) -> str | bytes:
        """Returns the answer to an operation on a value: text for text, and bytes for bytes."""
        does, value = call["does"], _Value(call["of"], call.get("context") or {})
        if does == "replaces":
            return "true" if self._calls.takes_replacements() else "false"
        if does == "replace":
            if "bytes" in call:
                return await self._other_bytes(value, blobs)
            return _text(await self._other(value, _parsed(call["text"])))
        if "bytes" in call:
            return await (self._sealed_bytes(value, blobs) if does == "seal" else self._opened_bytes(value, blobs))
        if does == "seal-keys":
            return _text(await self._sealed_keys(value, _parsed(call["text"])))
        if does == "seal":
            return _text(await self._sealed(value, call["text"]))
        return await self._opened(value, _parsed(call["text"]))

    async def derived(self, question: Json) -> Json:
        """Returns the context of a request, which the handler derives from the user and the context that it brings."""
        return {"metadata": await self._calls.context(User(question["user"]), question["metadata"])}

    async def _sealed(self, value: _Value, text: str) -> Json:
        is_object = text.startswith("{")
        if self._calls.blobs(value.of, is_object):
            return {"blob": base64.b64encode(await self._calls.by_blob("encrypt", value, text.encode())).decode()}
        if is_object and value.of in _BY_KEY:
            return {"json": await self._calls.by_json("encrypt", value, _parsed(text))}
        return {"one": await self._calls.by_json("encrypt", value, {value.field: _parsed(text)})}

    async def _opened(self, value: _Value, body: Json) -> str:
        if "blob" in body:
            opened = await self._calls.by_blob("decrypt", value, base64.b64decode(body["blob"]))
            return _json_in(opened, value.of)
        if "one" in body:
            return _text(next(iter((await self._calls.by_json("decrypt", value, body["one"])).values())))
        return _text(await self._calls.by_json("decrypt", value, body.get("json", {})))

    async def _sealed_bytes(self, value: _Value, data: bytes) -> bytes:
        if self._calls.blobs(value.of, False):
            return _BY_BLOB + await self._calls.by_blob("encrypt", value, data)
        text = _text(base64.b64encode(data).decode())
        return _BY_JSON + _text(await self._sealed(value, text)).encode()

    async def _opened_bytes(self, value: _Value, data: bytes) -> bytes:
        if data[:1] == _BY_BLOB:
            return await self._calls.by_blob("decrypt", value, data[1:])
        return base64.b64decode(_parsed(await self._opened(value, _parsed(data[1:].decode()))))

    async def _sealed_keys(self, value: _Value, record: Json) -> Json:
        """Returns the values of the keys that the handler changed. It does not see those that the server searches by."""
        shown = {name: part for name, part in record.items() if part is not None and not _is_ours(name, value.of)}
        if not shown or not self._calls.has_json:
            return {}
        # The handler may change what it is given in place.
        before = {name: _text(part) for name, part in shown.items()}
        made = await self._calls.by_json("encrypt", value, shown)
        return {name: part for name, part in made.items() if _text(part) != before[name]}

    async def _other(self, value: _Value, body: Json) -> Json | None:
        """Returns the stored form that the module wants in place of one; None where that stays."""
        if "blob" in body:
            other = await self._other_blob(value, base64.b64decode(body["blob"]))
            return None if other is None else {"blob": base64.b64encode(other).decode()}
        name = "one" if "one" in body else "json"
        objects = await self._other_object(value, body.get(name, {}))
        return None if objects is None else {name: objects}

    async def _other_bytes(self, value: _Value, data: bytes) -> bytes:
        if data[:1] == _BY_BLOB:
            other = await self._other_blob(value, data[1:])
            return b"" if other is None else _BY_BLOB + other
        body = await self._other(value, _parsed(data[1:].decode()))
        return b"" if body is None else _BY_JSON + _text(body).encode()

    async def _other_blob(self, value: _Value, stored: bytes) -> bytes | None:
        made = await self._calls.made_by_blob("decrypt", value, stored)
        if made.replacement is None:
            return None
        other = _bytes(made.replacement, _BLOB, value.of)
        if other == stored:
            return None
        again = await self._calls.made_by_blob("decrypt", value, other)
        return other if self._is_same(made, again, _BLOB) else None

    async def _other_object(self, value: _Value, stored: Json) -> Json | None:
        # The handler may change what it is given in place.
        made = await self._calls.made_by_json("decrypt", value, copy.deepcopy(stored))
        if made.replacement is None:
            return None
        other = _object(made.replacement, _JSON, value.of, list(stored))
        again = await self._calls.made_by_json("decrypt", value, copy.deepcopy(other))
        return other if other != stored and self._is_same(made, again, _JSON) else None

    def _is_same(self, made: Made, again: Made, name: str) -> bool:
        """A value that is decrypted to something else would be lost."""
        if made.plaintext == again.plaintext:
            return True
        if name not in self._warned:
            self._warned.add(name)
            _log.warning("a replacement of %s is decrypted to another value, so the value before it stays", name)
        return False


class _Value(NamedTuple):
    """The kind of record and the field of a value, and the context that it is encrypted under."""

    of: str
    context: Json

    @property
    def field(self) -> str:
        return self.of.partition(".")[2]


class Made(NamedTuple):
    """The result of a handler, and the value that it wants to be stored in place of the one that it was given."""

    plaintext: Any
    replacement: Any


class _Calls:
    """Calls handlers, each within the limit, and checks what they return."""

    def __init__(self, handlers: EncryptionHandlers, seconds: float) -> None:
        self._handlers = handlers
        self._seconds = seconds
        self._asked = False

    @property
    def has_json(self) -> bool:
        """Returns whether objects can be encrypted by key."""
        return self._handlers.encrypt_json is not None

    def blobs(self, of: str, is_object: bool) -> bool:
        """Returns whether a value of the field goes to `blob`."""
        return self._handlers.encrypt_blob is not None and not (of in _BY_KEY and is_object and self.has_json)

    async def by_blob(self, word: Word, value: _Value, data: bytes) -> bytes:
        """Returns what `blob` made of the bytes."""
        return _bytes(self._heard(await self.made_by_blob(word, value, data)), f"{word}.blob", value.of)

    async def by_json(self, word: Word, value: _Value, given: Json) -> Json:
        """Returns what `json` made of the object, which has the same keys."""
        keys = list(given)
        return _object(self._heard(await self.made_by_json(word, value, given)), f"{word}.json", value.of, keys)

    async def made_by_blob(self, word: Word, value: _Value, data: bytes) -> Made:
        """Returns the result of `blob` as it is."""
        handler = self._handlers.encrypt_blob if word == "encrypt" else self._handlers.decrypt_blob
        return await self._called(handler, f"{word}.blob", value, data)

    async def made_by_json(self, word: Word, value: _Value, given: Json) -> Made:
        """Returns the result of `json` as it is."""
        handler = self._handlers.encrypt_json if word == "encrypt" else self._handlers.decrypt_json
        return await self._called(handler, f"{word}.json", value, given)

    def takes_replacements(self) -> bool:
        """Returns whether a handler has asked for another stored value since the last call."""
        asked, self._asked = self._asked, False
        return asked

    def _heard(self, made: Made) -> Any:
        self._asked = self._asked or made.replacement is not None
        return made.plaintext

    async def context(self, user: User, metadata: Json) -> Json:
        """Returns the context that the handler for contexts makes of the one that a request brings."""
        handler = self._handlers.context
        if handler is None:
            raise ProblemError(501, "encryption.path has no context handler.")
        made = await self._in_time(lambda: handler(user, _handler_context(None, None, metadata)), "context", "a request")
        if not isinstance(made, dict):
            raise ProblemError(500, "encryption.path: context returned no object.")
        sentence = "encryption.path: context returned values that JSON does not have."
        if not all(isinstance(name, str) for name in made):
            raise ProblemError(500, sentence)
        _check_json(made, sentence)
        return made

    async def _called(self, handler: Callable[..., Awaitable[Any]] | None, name: str, value: _Value, data: Any) -> Made:
        of = value.of
        if handler is None:
            sentence = f"is encrypted by {name}'s counterpart, and encryption.path has no {name} for it; add that handler."
            raise ProblemError(503, f"A value ({of}) {sentence}")
        context = _handler_context(of.partition(".")[0], value.field, value.context)
        made = await self._in_time(lambda: handler(context, data), name, of)
        return Made(made.plaintext, made.replacement) if type(made).__name__ == "DecryptResult" else Made(made, None)

    async def _in_time(self, call: Callable[[], Awaitable[Any]], name: str, of: str) -> Any:
        limit = asyncio.timeout(self._seconds)
        try:
            async with limit:
                return await call()
        except Exception as error:
            if limit.expired():
                sentence = f"{name} did not answer within {self._seconds} s for {of}."
                raise ProblemError(503, f"encryption.path: {sentence}") from None
            # Its error may hold secrets, so clients don't get it.
            _log.error("a handler of encryption.path failed: %s for %s", name, of, exc_info=error)
            raise ProblemError(503, f"encryption.path: {name} failed for {of}.") from None


def _bytes(made: Any, name: str, of: str) -> bytes:
    if not isinstance(made, (bytes, bytearray, memoryview)):
        raise ProblemError(500, f"encryption.path: {name} returned no bytes for {of}.")
    return bytes(made)


def _object(made: Any, name: str, of: str, keys: list[str]) -> Json:
    if not isinstance(made, dict):
        raise ProblemError(500, f"encryption.path: {name} returned no object for {of}.")
    changed = [str(key) for key in made if key not in keys] + [key for key in keys if key not in made]
    if changed:
        sentence = f"changed the keys of {of} ({', '.join(changed)}); it may only change their values."
        raise ProblemError(500, f"encryption.path: {name} {sentence}")
    try:
        orjson.dumps(made)
    except orjson.JSONEncodeError:
        _check_json(made, f"encryption.path: {name} returned values for {of} that JSON does not have.")
    return made


def _gap(handlers: EncryptionHandlers) -> str | None:
    """Returns what the module lacks, if it would encrypt values that it can't decrypt, or has nothing."""
    if handlers.decrypt_blob is None and handlers.decrypt_json is None:
        return "has no handlers that decrypt: register decrypt.blob, decrypt.json or both"
    if handlers.encrypt_blob is not None and handlers.decrypt_blob is None:
        return "has encrypt.blob without decrypt.blob"
    if handlers.encrypt_json is not None and handlers.decrypt_json is None:
        return "has encrypt.json without decrypt.json"
    return None


def _handler_context(model: str | None, field: str | None, metadata: Json) -> Any:
    from langgraph_sdk.encryption.types import EncryptionContext

    return EncryptionContext(model=model, field=field, metadata=metadata)


def _is_ours(name: str, of: str) -> bool:
    is_of_checkpoint = of.startswith("checkpoint.") and name in _OF_CHECKPOINTS
    return is_of_checkpoint or name in _OF_SERVER or name.startswith("langgraph_")


def _parsed(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        # A text of JavaScript may have half a character, which orjson does not read.
        return json.loads(text)


def _text(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return json.dumps(value, allow_nan=False)


def _json_in(opened: bytes, of: str) -> str:
    """Returns the text in the bytes. Raises `ProblemError` where they are none of those that were encrypted."""
    try:
        text = opened.decode()
        _parsed(text)
    except ValueError:
        sentence = f"decrypt.blob returned something else for {of} than encrypt.blob was given."
        raise ProblemError(500, f"encryption.path: {sentence}") from None
    return text


def _check_json(made: Json, sentence: str) -> None:
    try:
        json.dumps(made, allow_nan=False)
    except (TypeError, ValueError):
        raise ProblemError(500, sentence) from None
