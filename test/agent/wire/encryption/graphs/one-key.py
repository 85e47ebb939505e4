"""The Python twin of one-key.ts."""

import importlib.util
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from langgraph_sdk import Encryption, EncryptionContext

_spec = importlib.util.spec_from_file_location("twin_encryption_of_all", Path(__file__).with_name("encryption.py"))
_every: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_every)

Handler = Callable[[EncryptionContext, dict[str, Any]], Awaitable[dict[str, Any]]]


def _of_number(handler: Handler) -> Handler:
    """Encrypts the key `ssn` of each record, and leaves all others readable."""

    async def changed(ctx: EncryptionContext, data: dict[str, Any]) -> dict[str, Any]:
        return {**data, **await handler(ctx, {"ssn": data["ssn"]})} if "ssn" in data else data

    return changed


async def _adds(ctx: EncryptionContext, data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "ssn": f"sealed {data.get('ssn')}"}


async def _needs(ctx: EncryptionContext, data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "ssn": data["ssn"].upper()}


async def _as_text(ctx: EncryptionContext, data: dict[str, Any]) -> dict[str, Any]:
    return {name: str(value) for name, value in data.items()}


async def _as_it_is(ctx: EncryptionContext, data: dict[str, Any]) -> dict[str, Any]:
    return data


def _module(seal: Handler, unseal: Handler) -> Encryption:
    made = Encryption()
    made.encrypt.blob(_every.seal_blob)
    made.decrypt.blob(_every.open_blob)
    made.encrypt.json(seal)
    made.decrypt.json(unseal)
    return made


encryption = _module(_of_number(_every.seal_json), _of_number(_every.open_json))
addsTheKey = _module(_adds, _of_number(_every.open_json))
needsTheKey = _module(_needs, _of_number(_every.open_json))
losesKinds = _module(_as_text, _as_it_is)
