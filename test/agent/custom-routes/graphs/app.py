"""The Python twin of app.ts: routes of a user, with middleware around all others."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable
from typing import Any

from langgraph_sdk import get_client
from starlette.applications import Starlette
from starlette.endpoints import HTTPEndpoint
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

left = 0


def header(scope: Any, name: bytes) -> str | None:
    value = dict(scope["headers"]).get(name)
    return None if value is None else value.decode()


async def body_of(receive: Any) -> bytes:
    return await Request({"type": "http", "headers": []}, receive).body()


def given(body: bytes) -> Any:
    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


class Seen:
    """Marks all answers, and may answer instead."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if b"stop" in scope["query_string"]:
            await JSONResponse({"stopped": True}, 418)(scope, receive, send)
            return

        async def marked(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"x-middleware", b"seen")]
            await send(message)

        await self.app(scope, receive, marked)


class Changes:
    """Changes the bodies of requests to /threads, as headers ask."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"] == "/threads":
            names = [name for name in ("owner", "label", "more") if header(scope, f"x-{name}".encode()) is not None]
            if names:
                receive = given(self.changed(await body_of(receive), scope, names))
        await self.app(scope, receive, send)

    def changed(self, text: bytes, scope: Any, names: list[str]) -> bytes:
        try:
            body = json.loads(text)
        except ValueError:
            return text
        for name in names:
            old = body.get("metadata") or {}
            body["metadata"] = {**(old if name == "more" else {}), name: header(scope, f"x-{name}".encode())}
        return json.dumps(body).encode()


class Wraps:
    """Replaces the body of a search, and wraps its answer."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"] == "/threads/search":
            if header(scope, b"x-replace") is not None:
                receive = given(b'{"limit": 1}')
            if header(scope, b"x-wrap") is not None:
                send = self.wrapping(scope, receive, send)
        await self.app(scope, receive, send)

    def wrapping(self, scope: Any, receive: Any, send: Any) -> Callable[[Any], Any]:
        pieces: list[bytes] = []

        async def wrapped(message: Any) -> None:
            if message["type"] == "http.response.start":
                return
            pieces.append(message.get("body", b""))
            if not message.get("more_body", False):
                await JSONResponse({"wrapped": json.loads(b"".join(pieces))})(scope, receive, send)

        return wrapped


async def hello(request: Request) -> Response:
    return JSONResponse({"hello": request.path_params["name"], "path": request.url.path})


async def page(request: Request) -> Response:
    return JSONResponse({"page": request.path_params["number"]})


async def path_of(request: Request) -> Response:
    return PlainTextResponse(request.url.path)


async def nothing(request: Request) -> Response:
    return Response(status_code=204)


class Every(HTTPEndpoint):
    async def dispatch(self) -> None:  # type: ignore[override]
        await PlainTextResponse(self.scope["method"])(self.scope, self.receive, self.send)


async def own(request: Request) -> Response:
    return JSONResponse({"own": True})


async def mine(request: Request) -> Response:
    return PlainTextResponse("mine")


async def missing(request: Request) -> Response:
    return JSONResponse({"detail": "Not Found"}, 404)


async def refuses(request: Request) -> Response:
    raise HTTPException(400, "Not like this.")


async def throws(request: Request) -> Response:
    raise RuntimeError("the secret of the application")


async def cookies(request: Request) -> Response:
    answer = Response(status_code=204)
    answer.headers.append("set-cookie", "a=1")
    answer.headers.append("set-cookie", "b=2")
    return answer


async def echo(request: Request) -> Response:
    return StreamingResponse(request.stream(), media_type="application/octet-stream")


async def size(request: Request) -> Response:
    total = 0
    async for chunk in request.stream():
        total += len(chunk)
    return JSONResponse({"size": total})


async def form(request: Request) -> Response:
    file: Any = (await request.form())["file"]
    return JSONResponse({"name": file.filename, "size": file.size})


async def ticks(request: Request) -> Response:
    async def ticking() -> AsyncIterator[bytes]:
        global left
        tick = 0
        try:
            while True:
                yield f"{tick}\n".encode()
                tick += 1
                await asyncio.sleep(0.02)
        finally:
            left += 1

    return StreamingResponse(ticking())


async def breaks(request: Request) -> Response:
    async def breaking() -> AsyncIterator[bytes]:
        yield b"begun"
        await asyncio.sleep(0.02)
        raise RuntimeError("broke")

    return StreamingResponse(breaking())


async def gone(request: Request) -> Response:
    return JSONResponse({"left": left})


async def hangs(request: Request) -> Response:
    await asyncio.Event().wait()
    return Response()


async def loops(request: Request) -> Response:
    while True:
        pass


async def loops_later(request: Request) -> Response:
    await asyncio.sleep(0.01)
    while True:
        pass


async def exits(request: Request) -> Response:
    os._exit(3)


async def client(request: Request) -> Response:
    return JSONResponse(await get_client().runs.wait(None, "steps", input={"left": 2}))


app = Starlette(
    middleware=[Middleware(Seen), Middleware(Changes), Middleware(Wraps)],
    routes=[
        Route("/hello/{name}", hello),
        Route("/pages/{number:int}", page, methods=["PUT"]),
        Route("/files/{rest:path}", path_of),
        Route("/optional", nothing, methods=["DELETE"]),
        Route("/optional/{end}", nothing, methods=["DELETE"]),
        Route("/any", Every),
        Route("/runs/own", own),
        Route("/ok", mine),
        Route("/metrics", mine),
        Route("/missing", missing),
        Route("/refuses", refuses),
        Route("/throws", throws),
        Route("/cookies", cookies),
        Route("/echo", echo, methods=["POST"]),
        Route("/size", size, methods=["POST"]),
        Route("/form", form, methods=["POST"]),
        Route("/ticks", ticks),
        Route("/breaks", breaks),
        Route("/left", gone),
        Route("/hangs", hangs),
        Route("/loops", loops),
        Route("/loops-later", loops_later),
        Route("/exits", exits),
        Route("/client", client),
    ],
)
