"""Calls of the handlers of an `Encryption` object, each of which is checked for what it returns."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Literal, NamedTuple

import orjson

from gx_runner.graphs.compat import EncryptionHandlers
from gx_runner.graphs.user import User
from gx_runner.wall.failures import ProblemError

Json = dict[str, Any]
Word = Literal["encrypt", "decrypt"]

# Fields whose objects go to `json` first, so that it may leave some keys as they are.
BY_KEY = {"run.kwargs", "thread.values", "cron.payload", "cron.owner", "store.value"}
_log = logging.getLogger("gx_runner")


class Value(NamedTuple):
    """The kind of record and the field of a value, and the context that it is encrypted under."""

    of: str
    context: Json
    # Present for a value that is not stored.
    trial: Trial | None = None

    @property
    def field(self) -> str:
        """Returns the field alone."""
        return self.of.partition(".")[2]


class Trial(Json):
    """The context of a trial, which has none to give. A handler that looks for one and then raises may do all else right."""

    needs_context = False

    def __bool__(self) -> bool:
        # langgraph_sdk puts another dictionary in the place of an empty one.
        return True

    def __getitem__(self, name: str) -> Any:
        self.needs_context = True
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.needs_context = True
        return super().__contains__(name)

    def __iter__(self) -> Iterator[str]:
        self.needs_context = True
        return super().__iter__()

    def get(self, name: str, default: Any = None) -> Any:
        """Returns what there is under the name, which is nothing."""
        self.needs_context = True
        return super().get(name, default)


class Made(NamedTuple):
    """The result of a handler, and the value that it wants to be stored in place of the one that it was given."""

    plaintext: Any
    replacement: Any


class Calls:
    """Calls handlers, each within the limit, and checks what they return."""

    def __init__(self, handlers: EncryptionHandlers, seconds: float) -> None:
        self._handlers = handlers
        self._seconds = seconds
        self._asked = False

    @property
    def has_json(self) -> bool:
        """Returns whether objects can be encrypted by key."""
        return self._handlers.encrypt_json is not None

    def is_for_blob(self, of: str, is_object: bool) -> bool:
        """Returns whether a value of the field goes to `blob`."""
        return self._handlers.encrypt_blob is not None and not (of in BY_KEY and is_object and self.has_json)

    async def call_blob(self, word: Word, value: Value, data: bytes) -> bytes:
        """Returns what `blob` made of the bytes."""
        return require_bytes(
            self._note_replacement(await self.call_blob_unchecked(word, value, data)), f"{word}.blob", value.of
        )

    async def call_json(self, word: Word, value: Value, given: Json) -> Json:
        """Returns what `json` made of the object, which has the same keys."""
        keys = list(given)
        return require_object(
            self._note_replacement(await self.call_json_unchecked(word, value, given)), f"{word}.json", value.of, keys
        )

    async def call_blob_unchecked(self, word: Word, value: Value, data: bytes) -> Made:
        """Returns the result of `blob` as it is."""
        handler = self._handlers.encrypt_blob if word == "encrypt" else self._handlers.decrypt_blob
        return await self._call_handler(handler, f"{word}.blob", value, data)

    async def call_json_unchecked(self, word: Word, value: Value, given: Json) -> Made:
        """Returns the result of `json` as it is."""
        handler = self._handlers.encrypt_json if word == "encrypt" else self._handlers.decrypt_json
        return await self._call_handler(handler, f"{word}.json", value, given)

    def take_replacement_wish(self) -> bool:
        """Returns whether a handler has asked for another stored value since the last call."""
        asked, self._asked = self._asked, False
        return asked

    def clone(self) -> Calls:
        """Returns the same handlers, with wishes for other stored values of their own."""
        return Calls(self._handlers, self._seconds)

    def _note_replacement(self, made: Made) -> Any:
        self._asked = self._asked or made.replacement is not None
        return made.plaintext

    async def derive_context(self, user: User, metadata: Json) -> Json:
        """Returns the context that the handler for contexts makes of the one that a request brings."""
        handler = self._handlers.context
        if handler is None:
            raise ProblemError(501, "encryption.path has no context handler.")
        made = await self._run_in_time(
            lambda: handler(user, _build_handler_context(None, None, metadata)), "context", "a request"
        )
        if not isinstance(made, dict):
            raise ProblemError(500, "encryption.path: context returned no object.")
        sentence = "encryption.path: context returned values that JSON does not have."
        if not all(isinstance(name, str) for name in made):
            raise ProblemError(500, sentence)
        _check_json(made, sentence)
        return made

    async def _call_handler(self, handler: Callable[..., Awaitable[Any]] | None, name: str, value: Value, data: Any) -> Made:
        of = value.of
        if handler is None:
            sentence = f"is encrypted by {name}'s counterpart, and encryption.path has no {name} for it; add that handler."
            raise ProblemError(503, f"A value ({of}) {sentence}")
        metadata = value.context if value.trial is None else value.trial
        context = _build_handler_context(of.partition(".")[0], value.field, metadata)
        made = await self._run_in_time(lambda: handler(context, data), name, of, value.trial)
        return Made(made.plaintext, made.replacement) if type(made).__name__ == "DecryptResult" else Made(made, None)

    async def _run_in_time(self, call: Callable[[], Awaitable[Any]], name: str, of: str, trial: Trial | None = None) -> Any:
        limit = asyncio.timeout(self._seconds)
        try:
            async with limit:
                return await call()
        except Exception as error:
            if limit.expired():
                sentence = f"{name} did not answer within {self._seconds} s for {of}."
                raise ProblemError(503, f"encryption.path: {sentence}") from None
            if trial is not None and trial.needs_context:
                raise ProblemError(503, f"encryption.path: {name} needs a context for {of}.") from None
            # Its error may hold secrets, so clients don't get it.
            _log.error("a handler of encryption.path failed: %s for %s", name, of, exc_info=error)
            raise ProblemError(503, f"encryption.path: {name} failed for {of}.") from None


def require_bytes(made: Any, name: str, of: str) -> bytes:
    """Returns the bytes that a handler made. Raises `ProblemError` where it made something else."""
    if not isinstance(made, (bytes, bytearray, memoryview)):
        raise ProblemError(500, f"encryption.path: {name} returned no bytes for {of}.")
    return bytes(made)


def require_object(made: Any, name: str, of: str, keys: list[str]) -> Json:
    """Returns the object that a handler made. Raises `ProblemError` where it has other keys, or no form in JSON."""
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


def _build_handler_context(model: str | None, field: str | None, metadata: Json) -> Any:
    from langgraph_sdk.encryption.types import EncryptionContext

    return EncryptionContext(model=model, field=field, metadata=metadata)


def _check_json(made: Json, sentence: str) -> None:
    try:
        json.dumps(made, allow_nan=False)
    except (TypeError, ValueError):
        raise ProblemError(500, sentence) from None
