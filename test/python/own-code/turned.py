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
# Asks for each value that it decrypts to be encrypted again.
rotates = _module()
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


@rotates.decrypt.blob
async def open_old_blob(ctx: EncryptionContext, blob: bytes) -> DecryptResult[bytes]:
    return DecryptResult(_turned(blob), replacement=blob)


@rotates.decrypt.json
async def open_old_json(ctx: EncryptionContext, data: dict[str, Any]) -> DecryptResult[dict[str, Any]]:
    return DecryptResult(_opened(data), replacement=data)


@odd.encrypt.json
async def seal_odd(ctx: EncryptionContext, data: dict[str, Any]) -> dict[str, Any]:
    return dict.fromkeys(data, b"bytes")


@odd.decrypt.json
async def open_odd(ctx: EncryptionContext, data: dict[str, Any]) -> dict[str, Any]:
    return data
