"""The Python twin of guarded.ts: middleware that may lend credentials, and routes that say who called."""

from typing import Any
from urllib.parse import parse_qs

from langgraph_sdk import get_client
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


class Lends:
    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        query = parse_qs(scope["query_string"].decode(), keep_blank_values=True)
        if "stop" in query:
            await JSONResponse({"stopped": True}, 418)(scope, receive, send)
            return
        if "as" in query:
            others = [(name, value) for name, value in scope["headers"] if name != b"authorization"]
            scope = {**scope, "headers": [*others, (b"authorization", f"Bearer {query['as'][0]}".encode())]}

        async def marked(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"x-middleware", b"seen")]
            await send(message)

        await self.app(scope, receive, marked)


async def who(request: Request) -> Response:
    user = request.user.identity if "user" in request.scope else None
    return JSONResponse({"user": user, "path": request.url.path})


async def counts(request: Request) -> Response:
    return JSONResponse({"threads": await get_client().threads.count()})


async def described(request: Request) -> Response:
    return JSONResponse({"openapi": "3.1.0", "paths": {"/who": {"get": {"operationId": "who", "responses": {}}}}})


app = Starlette(
    middleware=[Middleware(Lends)],
    routes=[Route("/who", who), Route("/counts", counts), Route("/openapi.json", described)],
)
