"""An application of FastAPI as projects write them, with a lifespan, middleware and included routers."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response, WebSocket


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
    if os.environ.get("FAILS"):
        raise RuntimeError("the pool is closed")
    yield {"pool": "opened"}
    print("the pool is closed again", flush=True)


app = FastAPI(lifespan=lifespan)
teams = APIRouter(prefix="/teams")


@app.middleware("http")
async def marks(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
    answer = await call_next(request)
    answer.headers["x-middleware"] = "seen"
    return answer


@teams.get("/{name}")
async def team(name: str, request: Request) -> Any:
    user = request.user.identity if "user" in request.scope else None
    assert request.client is not None
    return {"team": name, "user": user, "pool": request.state.pool, "client": request.client.host}


@app.get("/throws")
def throws() -> Any:
    raise RuntimeError("the secret of the application")


@app.get("/loops")
async def loops() -> Any:
    while True:
        pass


@app.websocket("/socket")
async def socket(connection: WebSocket) -> None:
    await connection.accept()


app.include_router(teams, prefix="/v1")
