"""The Python twin of auth.ts: each user owns what it makes. A token may end with what its user is not let do."""

import asyncio
import json
from typing import Any

from langgraph_sdk import Auth

auth = Auth()
asked = 0


@auth.authenticate
async def authenticate(authorization: str | None, path: str) -> Any:
    global asked
    asked += 1
    token = authorization and authorization.replace("Bearer ", "")
    if token is None:
        raise Auth.exceptions.HTTPException(detail="Who are you?", headers={"WWW-Authenticate": "Bearer"})
    if token == "banned":
        raise Auth.exceptions.HTTPException(status_code=418, detail="Not you.")
    if token == "broken":
        raise RuntimeError("the secret of the directory")
    if token == "nobody":
        return None
    if token in ("unnamed", "numbered"):
        return {"identity": None if token == "unnamed" else 7}
    # Callers who do not say who they are.
    if token == "anonymous":
        return {"identity": "", "permissions": ["reads"], "is_authenticated": False}
    if token == "stuck":
        while True:
            pass
    if token == "silent":
        await asyncio.Event().wait()
    identity, _, denied = token.partition("!")
    return {"identity": identity, "permissions": [denied], "asked": asked, "path": path}


@auth.on
async def owns(ctx: Auth.types.AuthContext, value: Any) -> Any:
    if f"{ctx.resource}:{ctx.action}" in ctx.permissions:
        return False
    if "metadata" in value:
        value["metadata"] = {**(value["metadata"] or {}), "owner": ctx.user.identity}
    if ctx.resource == "store":
        value["namespace"] = (ctx.user.identity, *(value.get("namespace") or ()))
        return None
    return {"owner": ctx.user.identity}


@auth.on.threads.search
async def searches_threads(ctx: Auth.types.AuthContext, value: Any) -> Any:
    if "threads:search" in ctx.permissions:
        return False
    _, _, teams = ctx.user.identity.partition("in teams ")
    return {"teams": {"$contains": json.loads(teams)}} if teams else {"owner": ctx.user.identity}


@auth.on.assistants.search
async def searches_assistants(ctx: Auth.types.AuthContext, value: Any) -> Any:
    if "assistants:search" in ctx.permissions:
        return False
    return {"$or": []} if ctx.user.identity == "odd" else {"owner": ctx.user.identity}
