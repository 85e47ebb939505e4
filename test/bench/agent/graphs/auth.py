"""The Python twin of auth.ts: each caller owns what it makes."""

from typing import Any

from langgraph_sdk import Auth

auth = Auth()


@auth.authenticate
async def authenticate(authorization: str | None) -> str:
    return authorization or "nobody"


@auth.on
async def owned(ctx: Auth.types.AuthContext, value: Any) -> Any:
    if "metadata" in value:
        value["metadata"] = {**(value["metadata"] or {}), "owner": ctx.user.identity}
    return {"owner": ctx.user.identity}
