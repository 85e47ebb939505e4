"""The Python twin of faulty.ts."""

import asyncio
import importlib.util
import json
from pathlib import Path
from typing import Any

from langgraph_sdk import Encryption, EncryptionContext

_spec = importlib.util.spec_from_file_location("twin_encryption", Path(__file__).with_name("encryption.py"))
_good: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_good)


async def _faulty(text: str, ctx: EncryptionContext) -> Any:
    """Does what the value asks for, where it asks for something that a module must not do."""
    if "please hang" in text:
        await asyncio.Event().wait()
    if "please throw" in text:
        raise RuntimeError("the key of the vault is 1234")
    if "please return text" in text:
        return "text"
    if "please change the keys" in text:
        return {"other": 1}
    if "please never yield" in text:
        while True:
            pass
    if ctx.model == "checkpoint" and "please fail in the graph" in text:
        raise RuntimeError("no vault for graphs")
    return None


async def _blob_at_times(ctx: EncryptionContext, blob: bytes) -> bytes:
    return await _faulty(blob.decode(errors="replace"), ctx) or await _good.seal_blob(ctx, blob)


async def _json_at_times(ctx: EncryptionContext, data: dict[str, Any]) -> dict[str, Any]:
    return await _faulty(json.dumps(data), ctx) or await _good.seal_json(ctx, data)


async def _as_it_is(ctx: EncryptionContext, blob: bytes) -> bytes:
    return blob


async def _shorter(ctx: EncryptionContext, blob: bytes) -> bytes:
    return blob[1:]


async def _text(ctx: EncryptionContext, blob: bytes) -> Any:
    return "text"


def _module(seal_blob: Any = _good.seal_blob, open_blob: Any = _good.open_blob, seal_json: Any = _good.seal_json) -> Encryption:
    made = Encryption()
    made.encrypt.blob(seal_blob)
    made.encrypt.json(seal_json)
    if open_blob is not None:
        made.decrypt.blob(open_blob)
    made.decrypt.json(_good.open_json)
    return made


atTimes = _module(_blob_at_times, seal_json=_json_at_times)
empty = Encryption()
withoutDecrypt = _module(open_blob=None)
oneWay = _module(_as_it_is, _shorter)
wrongType = _module(_text)
