"""The Python twin of tenants.ts: each tenant has a key. Its cipher is not for real use."""

import base64
import hashlib
import hmac
import json
import os
from collections.abc import Callable
from typing import Any

from langgraph_sdk import Auth, Encryption, EncryptionContext


def _key(ctx: EncryptionContext) -> bytes:
    """The key of the tenant. One that the test takes away is gone. The word that a server tries itself is nobody's."""
    tenant = ctx.metadata.get("tenant")
    if tenant is None and f"{ctx.model}.{ctx.field}" != "run.key":
        raise ValueError(f"nobody's value of {ctx.model}.{ctx.field}")
    if tenant is not None and tenant == os.environ.get("GONE"):
        raise ValueError("the key of this tenant is gone")
    return hashlib.sha256(f"{os.environ.get('MODULE_SECRET')} of {tenant or 'nobody'}".encode()).digest()


def _masked(key: bytes, nonce: bytes, data: bytes) -> bytes:
    blocks = (len(data) + 31) // 32
    stream = b"".join(hmac.digest(key, nonce + number.to_bytes(4), "sha256") for number in range(blocks))
    return bytes(one ^ other for one, other in zip(data, stream, strict=False))


def _sealed(ctx: EncryptionContext, data: bytes) -> bytes:
    key, nonce = _key(ctx), os.urandom(16)
    sealed = nonce + _masked(key, nonce, data)
    return sealed + hmac.digest(key, sealed, "sha256")


def _opened(ctx: EncryptionContext, data: bytes) -> bytes:
    key, sealed, tag = _key(ctx), data[:-32], data[-32:]
    if not hmac.compare_digest(tag, hmac.digest(key, sealed, "sha256")):
        raise ValueError("The value was changed, or is another tenant's.")
    return _masked(key, sealed[:16], sealed[16:])


def _each(data: dict[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    return {name: value if name in ("plain", "owner") else change(value) for name, value in data.items()}


def _module() -> Encryption:
    made = Encryption()

    @made.encrypt.blob
    async def seal_blob(ctx: EncryptionContext, blob: bytes) -> bytes:
        return _sealed(ctx, blob)

    @made.encrypt.json
    async def seal_json(ctx: EncryptionContext, data: dict[str, Any]) -> dict[str, Any]:
        return _each(data, lambda value: base64.b64encode(_sealed(ctx, json.dumps(value).encode())).decode())

    @made.decrypt.blob
    async def open_blob(ctx: EncryptionContext, blob: bytes) -> bytes:
        return _opened(ctx, blob)

    @made.decrypt.json
    async def open_json(ctx: EncryptionContext, data: dict[str, Any]) -> dict[str, Any]:
        return _each(data, lambda value: json.loads(_opened(ctx, base64.b64decode(value))))

    return made


# Encrypts under the key of the tenant that the header of the request names.
byHeader = _module()

# Encrypts under the key of the tenant of the user, whatever the header says of that.
byUser = _module()


@byUser.context
async def tenant_of(user: Any, ctx: EncryptionContext) -> Any:
    if user.tenant == "odd":
        return "no object"
    if user.tenant == "lost":
        raise RuntimeError("the directory of tenants does not answer")
    return {**ctx.metadata, "tenant": user["tenant"]}


auth = Auth()


@auth.authenticate
async def authenticate(headers: dict[bytes, bytes]) -> Any:
    """Lets in everybody, as one tenant unless the request names another."""
    tenant = headers.get(b"x-tenant", b"tenant-red").decode()
    return {"identity": f"user of {tenant}", "permissions": [], "tenant": tenant}
