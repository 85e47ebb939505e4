"""Handlers as Python projects write them: plain functions, facts by name, and objects for users."""

import time
from dataclasses import dataclass
from typing import Any

from langgraph_sdk import Auth
from starlette.exceptions import HTTPException
from starlette.requests import Request


@dataclass
class Person:
    name: str
    team: str

    @property
    def identity(self) -> str:
        return self.name


auth = Auth()


@auth.authenticate
def authenticate(request: Request, query_params: Any, path_params: Any, headers: dict[bytes, bytes], method: str) -> Any:
    name = request.headers.get("x-name")
    if name is None:
        raise HTTPException(401, "Give a name.", headers={"x-hint": "x-name"})
    if name == "sleepy":
        time.sleep(3)
    seen = f"{method} {query_params.get('team')} {sorted(path_params)} {headers[b'x-name'].decode()}"
    return ["reads"], Person(name, seen)


@auth.on.threads
async def checks(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> None:
    assert ctx.user["name"] != "eve", "Not for eve."
    assert "reads" in ctx.permissions and ctx.user.identity == ctx.user["identity"]


@auth.on(resources="threads", actions="search")
async def odd(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> Any:
    return "everything"


@auth.on.assistants.search
async def none(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> bool:
    return False


@auth.on(resources="runs", actions=["create", "read"])
async def never_asked(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> bool:
    return False


asks_for_body = Auth()


@asks_for_body.authenticate
async def reads_body(body: dict[str, Any]) -> str:
    return "ann"


asks_for_more = Auth()


@asks_for_more.authenticate
async def reads_more(authorization: str, database: Any) -> str:
    return "ann"


lets_nobody_in = Auth()
no_auth = 5
