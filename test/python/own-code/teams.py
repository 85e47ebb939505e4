"""Handlers and routes of a company with teams and roles. A token is `Bearer token/USER/ROLE/TEAM`."""

from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Request
from langgraph_sdk import Auth

auth = Auth()


def _refusal(detail: str) -> Auth.exceptions.HTTPException:
    return Auth.exceptions.HTTPException(status_code=401, detail=detail)


@auth.authenticate
async def authenticate(headers: dict[Any, Any]) -> Any:
    """Asks for a header by a text, as projects do that come from another server."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme != "Bearer":
        raise _refusal("A bearer token is missing.")
    kind, *parts = token.split("/")
    if kind != "token" or len(parts) != 3:
        raise _refusal("The token is not valid.")
    user, role, team = parts
    return {
        "identity": user,
        "display_name": f"User {user}",
        "permissions": [role, f"{role}:read"],
        "role": role,
        "tier": "premium" if role in ("admin", "premium") else "free",
        "team": team,
        "email": f"{user}@example.com",
    }


@auth.on
async def everything_else(ctx: Auth.types.AuthContext, value: Any) -> Any:
    return True


@auth.on.threads
async def own_threads(ctx: Auth.types.AuthContext, value: Any) -> Any:
    return {"owner": ctx.user.identity}


@auth.on.threads.create
async def create_thread(ctx: Auth.types.AuthContext, value: Any) -> Any:
    value["metadata"] = {**(value.get("metadata") or {}), "owner": ctx.user.identity, "team": ctx.user["team"]}
    return {"owner": ctx.user.identity}


@auth.on.assistants.create
async def create_assistant(ctx: Auth.types.AuthContext, value: Any) -> Any:
    value["metadata"] = {**(value.get("metadata") or {}), "made_by": ctx.user.identity, "team": ctx.user.team}
    return True


@auth.on.assistants.delete
async def delete_assistant(ctx: Auth.types.AuthContext, value: Any) -> bool:
    return ctx.user.role == "admin"


app = FastAPI()


@app.get("/custom/public")
async def public() -> Any:
    return {"public": True}


@app.get("/custom/whoami")
async def whoami(request: Request) -> Any:
    return dict(request.user) if "user" in request.scope else {"identity": "nobody"}


def signed_in(request: Request) -> str:
    if "user" not in request.scope:
        raise HTTPException(401, "Sign in first.")
    return str(request.user.identity)


@app.get("/custom/protected")
async def protected(user: Annotated[str, Depends(signed_in)]) -> Any:
    return {"user": user}
