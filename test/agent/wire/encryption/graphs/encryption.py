"""The Python twin of encryption.ts. Its cipher is made of what Python has without packages, and not for real use."""

import base64
import hashlib
import hmac
import json
import os
from collections.abc import Callable
from typing import Any

from langgraph_sdk import Encryption, EncryptionContext

_key = hashlib.sha256(os.environ.get("MODULE_SECRET", "").encode()).digest()
_READABLE = {"plain", "owner"}


def _masked(nonce: bytes, data: bytes) -> bytes:
    blocks = (len(data) + 31) // 32
    stream = b"".join(hmac.digest(_key, nonce + number.to_bytes(4), "sha256") for number in range(blocks))
    return bytes(one ^ other for one, other in zip(data, stream, strict=False))


def _tag(ctx: EncryptionContext, sealed: bytes) -> bytes:
    """The kind of record and its field are authenticated."""
    return hmac.digest(_key, f"{ctx.model}.{ctx.field}".encode() + sealed, "sha256")


def _sealed(ctx: EncryptionContext, data: bytes) -> bytes:
    nonce = os.urandom(16)
    sealed = nonce + _masked(nonce, data)
    return sealed + _tag(ctx, sealed)


def _opened(ctx: EncryptionContext, data: bytes) -> bytes:
    sealed, tag = data[:-32], data[-32:]
    if not hmac.compare_digest(tag, _tag(ctx, sealed)):
        raise ValueError("The value was changed, or belongs elsewhere.")
    return _masked(sealed[:16], sealed[16:])


def _each(data: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    return {name: value if name in _READABLE else change(value) for name, value in data.items()}


async def seal_blob(ctx: EncryptionContext, blob: bytes) -> bytes:
    return _sealed(ctx, blob)


async def open_blob(ctx: EncryptionContext, blob: bytes) -> bytes:
    return _opened(ctx, blob)


async def seal_json(ctx: EncryptionContext, data: dict[str, Any]) -> dict[str, Any]:
    return _each(data, lambda value: base64.b64encode(_sealed(ctx, json.dumps(value).encode())).decode())


async def open_json(ctx: EncryptionContext, data: dict[str, Any]) -> dict[str, Any]:
    return _each(data, lambda value: json.loads(_opened(ctx, base64.b64decode(value))))


# Encrypts everything but labels that are looked for.
encryption = Encryption()
encryption.encrypt.blob(seal_blob)
encryption.encrypt.json(seal_json)
encryption.decrypt.blob(open_blob)
encryption.decrypt.json(open_json)

# The same by `json` alone.
byJson = Encryption()
byJson.encrypt.json(seal_json)
byJson.decrypt.json(open_json)

# Reads what was encrypted, and encrypts nothing any more.
onlyReads = Encryption()
onlyReads.decrypt.blob(open_blob)
onlyReads.decrypt.json(open_json)
