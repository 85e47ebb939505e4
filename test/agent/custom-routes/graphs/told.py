"""The Python twin of told.ts: routes that webhooks call, and one that says what came to them."""

from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

heard: list[Any] = []
failed = 0


class Forwards:
    """Has the built-in routes answer in the place of one."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] != "/forwards":
            await self.app(scope, receive, send)
            return

        async def given() -> Any:
            return {"type": "http.request", "body": b'{"metadata":{"by":"a hook"}}', "more_body": False}

        await self.app({**scope, "path": "/threads"}, given, send)


async def fails_once(request: Request) -> Response:
    global failed
    failed += 1
    return PlainTextResponse("Not yet.", 503) if failed == 1 else Response(status_code=204)


async def hears(request: Request) -> Response:
    user = dict(request.user) if "user" in request.scope else None
    text = (await request.body()).decode()
    heard.append({"path": request.url.path, "headers": dict(request.headers), "text": text, "user": user})
    return Response(status_code=204)


async def counts(request: Request) -> Response:
    return JSONResponse(0)


async def says(request: Request) -> Response:
    return JSONResponse(heard)


app = Starlette(
    middleware=[Middleware(Forwards)],
    routes=[
        Route("/hooks/fails-once", fails_once, methods=["POST"]),
        Route("/forwards", hears, methods=["POST"]),
        Route("/hooks/{name}", hears, methods=["POST"]),
        Route("/threads/count", counts, methods=["POST"]),
        Route("/heard", says),
    ],
)
