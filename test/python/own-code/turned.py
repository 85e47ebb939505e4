"""Encryption as projects write it, by a key that stands for none: it turns bytes around. turned.ts does the same."""

import base64
import json
from typing import Any

from langgraph_sdk import Encryption, EncryptionContext
from langgraph_sdk.encryption.types import DecryptResult


def _turned(data: bytes) -> bytes:
    return bytes(byte ^ 0x5A for byte in data)


def _module() -> Encryption:
    made = Encryption()

    @made.encrypt.blob
    async def seal_blob(ctx: EncryptionContext, blob: bytes) -> bytes:
        return _turned(blob)

    @made.encrypt.json
    async def seal_json(ctx: EncryptionContext, data: dict[str, Any]) -> dict[str, Any]:
        kept = {"plain": data["plain"]} if "plain" in data else {}
        sealed = {name: base64.b64encode(_turned(json.dumps(value).encode())).decode() for name, value in data.items()}
        return {**sealed, **kept}

    return made


def _opened(data: dict[str, Any]) -> dict[str, Any]:
    kept = {"plain": data["plain"]} if "plain" in data else {}
    values = {name: json.loads(_turned(base64.b64decode(value))) for name, value in data.items() if name != "plain"}
    return {**values, **kept}


encryption = _module()
# Encrypts by another key, and asks for each value of the former one to be stored by it.
rotates = Encryption()
_NEW = b"new:"
# Returns what JSON does not have.
odd = Encryption()
no_module = {"encrypt": {}}


@encryption.decrypt.blob
async def open_blob(ctx: EncryptionContext, blob: bytes) -> bytes:
    return _turned(blob)


@encryption.decrypt.json
async def open_json(ctx: EncryptionContext, data: dict[str, Any]) -> dict[str, Any]:
    assert (ctx.model, ctx.field) != (None, None) and ctx.metadata == {}
    return _opened(data)


def _new(data: bytes) -> bytes:
    return _NEW + bytes(byte ^ 0x3C for byte in data)


def _either(data: bytes) -> bytes:
    return bytes(byte ^ 0x3C for byte in data[len(_NEW) :]) if data.startswith(_NEW) else _turned(data)


def _new_text(value: Any) -> str:
    return base64.b64encode(_new(json.dumps(value).encode())).decode()


@rotates.encrypt.blob
async def seal_new_blob(ctx: EncryptionContext, blob: bytes) -> bytes:
    return _new(blob)


@rotates.encrypt.json
async def seal_new_json(ctx: EncryptionContext, data: dict[str, Any]) -> dict[str, Any]:
    return {name: value if name == "plain" else _new_text(value) for name, value in data.items()}


@rotates.decrypt.blob
async def open_either_blob(ctx: EncryptionContext, blob: bytes) -> DecryptResult[bytes]:
    opened = _either(blob)
    return DecryptResult(opened, replacement=None if blob.startswith(_NEW) else _new(opened))


@rotates.decrypt.json
async def open_either_json(ctx: EncryptionContext, data: dict[str, Any]) -> DecryptResult[dict[str, Any]]:
    opened = {name: value if name == "plain" else json.loads(_either(base64.b64decode(value))) for name, value in data.items()}
    other = {name: value if name == "plain" else _new_text(value) for name, value in opened.items()}
    return DecryptResult(opened, replacement=None if other == data else other)


# Has the other key alone.
new = Encryption()
new.encrypt.blob(seal_new_blob)
new.encrypt.json(seal_new_json)


@new.decrypt.blob
async def open_new_blob(ctx: EncryptionContext, blob: bytes) -> bytes:
    assert blob.startswith(_NEW)
    return _either(blob)


@new.decrypt.json
async def open_new_json(ctx: EncryptionContext, data: dict[str, Any]) -> dict[str, Any]:
    texts = {name: base64.b64decode(value) for name, value in data.items() if name != "plain"}
    assert all(text.startswith(_NEW) for text in texts.values())
    return {name: json.loads(_either(texts[name])) if name in texts else value for name, value in data.items()}


# Asks for values to be stored from which nobody gets the former ones.
loses = Encryption()
loses.encrypt.blob(seal_new_blob)
loses.encrypt.json(seal_new_json)


@loses.decrypt.blob
async def open_and_lose_blob(ctx: EncryptionContext, blob: bytes) -> DecryptResult[bytes]:
    return DecryptResult(_either(blob), replacement=_new(b'"lost"'))


@loses.decrypt.json
async def open_and_lose_json(ctx: EncryptionContext, data: dict[str, Any]) -> DecryptResult[dict[str, Any]]:
    return DecryptResult(await open_new_json(ctx, data), replacement=dict.fromkeys(data, _new_text("lost")))


@odd.encrypt.json
async def seal_odd(ctx: EncryptionContext, data: dict[str, Any]) -> dict[str, Any]:
    return dict.fromkeys(data, b"bytes")


@odd.decrypt.json
async def open_odd(ctx: EncryptionContext, data: dict[str, Any]) -> dict[str, Any]:
    return data
