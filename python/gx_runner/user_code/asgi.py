"""Serves the application of `http.app` to the server, and the server's own routes to the application."""

from __future__ import annotations

import asyncio
import logging
from typing import Any
from urllib.parse import quote, unquote

import orjson

from gx_runner.user_code.progress import Progress
from gx_runner.user_code.requests import Receive, Scope, Send, add_user, build_scope
from gx_runner.user_code.served import Served
from gx_runner.user_code.sockets import ServedSocket
from gx_runner.wall.exchange import Exchange, Exchanges
from gx_runner.wall.wire import Message

# The key of a scope at which the server's own routes find the request.
_SERVED = "gx.served"
_FAILED = "http.app failed."
_NOT_FOUND = orjson.dumps({"detail": "Not Found"})
_JSON = (b"content-type", b"application/json")
_log = logging.getLogger("gx_runner")


class AppServer:
    """The requests under way. All but `is_about_request` is called in the loop of the application."""

    def __init__(self, exchanges: Exchanges, progress: Progress) -> None:
        self._exchanges = exchanges
        self._progress = progress
        self._served: dict[int, Served] = {}
        self._app: Any = None
        self._state: dict[str, Any] = {}

    def serve(self, app: Any, state: dict[str, Any]) -> None:
        """From now on, requests go to the application. `state` is that of its lifespan."""
        self._app = app
        self._state = state

    @staticmethod
    def find_request(scope: Scope) -> Served | None:
        """Returns the request of the server that a scope is of; None for one that the runner has made up."""
        return scope.get(_SERVED)

    @staticmethod
    def is_about_request(message: Message) -> bool:
        """Returns whether a message is about a request of the server, and not about one of the user's code."""
        kind, of = message["kind"], message.get("of")
        is_of_request = kind in ("chunk", "end") and of == "request"
        return kind in ("ask", "leave") or is_of_request or (kind in ("more", "stop") and of == "answer")

    def handle_message(self, message: Message, blobs: bytes) -> None:
        """Takes a message of a request. One of a request that is over is ignored."""
        number, kind = message["exchange"], message["kind"]
        if kind == "ask":
            served = self._served[number] = self._create_served(message)
            served.task = self._progress.begin_exchange(number, self._answer(served))
        elif (known := self._served.get(number)) is None:
            return
        elif kind in ("leave", "stop"):
            del self._served[number]
            known.leave()
        else:
            known.handle_message(message, blobs)

    def _create_served(self, message: Message) -> Served:
        head, purpose = message["head"], message["purpose"]
        scope = add_user(build_scope(head), purpose.get("user"))
        # The ids in a path are those that the application's own routes find in it.
        scope["path_params"] = {}
        scope["state"] = dict(self._state)
        if purpose.get("source") is not None:
            scope["client"] = (purpose["source"], 0)
        number, room, send = message["exchange"], message.get("room", 0), self._exchanges.send
        if (offered := purpose.get("socket")) is not None:
            scope["subprotocols"] = offered
            served: Served = ServedSocket(number, scope, room, send)
        else:
            served = Served(number, scope, head["hasBody"], room, send)
        scope[_SERVED] = served
        return served

    async def _answer(self, served: Served) -> None:
        """Has the application answer. Never fails."""
        try:
            if self._app is None:
                await _answer_with(served.send, 404, [_JSON], _NOT_FOUND)
                return
            await self._app(served.scope, served.receive, served.send)
            if not served.has_begun and not served.left:
                raise RuntimeError("http.app ended without an answer.")
            served.end("http.app ended before its answer did.")
        except BaseException as error:
            self._report_failure(served, error)
        finally:
            self._served.pop(served.number, None)

    def _report_failure(self, served: Served, error: BaseException) -> None:
        if served.left:
            return
        if not served.can_ignore(error):
            # The text of the failure may hold secrets, so that it stays in the log.
            _log.error(_FAILED, exc_info=error)
        if served.has_begun:
            served.fail(_FAILED)
        else:
            refusal = {"status": 500, "message": _FAILED, "headers": {}}
            self._exchanges.send({"kind": "refused", "exchange": served.number, **refusal})

    async def pass_to_server(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers as the server's own routes do, which follow those of the application."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
            return
        if (served := self.find_request(scope)) is None:
            await _answer_with(send, 404, [_JSON], _NOT_FOUND)
            return
        body = await _read_body(receive) if served.has_body else b""
        if served.left or body is None:
            return
        asked = self._ask(scope, body, "next")
        try:
            await _pass_on(served, asked, send)
        except asyncio.CancelledError:
            if not served.left:
                asked.leave()
                raise

    def wrap_authenticated(self, app: Any) -> Any:
        """Returns the same route for callers whom the server lets in; `request.user` is the caller."""

        async def serve_caller(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http" or _SERVED not in scope:
                await app(scope, receive, send)
                return
            asked = self._ask(scope, b"", "caller")
            head = await asyncio.wrap_future(asked.head)
            body = await _read_answer(asked)
            if head.status != 200:
                headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in head.headers]
                await _answer_with(send, head.status, headers, body)
                return
            await app(add_user(scope, orjson.loads(body)), receive, send)

        return serve_caller

    def _ask(self, scope: Scope, body: bytes, want: str) -> Exchange:
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        # A middleware may have changed the body, whose length the server learns as it comes.
        own = [(name, value) for name, value in headers if name != "content-length"]
        purpose = {"want": want, "exchange": scope[_SERVED].number}
        return self._exchanges.ask(scope["method"], _build_url(scope), own, body, purpose)


def _build_url(scope: Scope) -> str:
    """Returns the address, whose path a middleware may have changed in its decoded form alone."""
    raw: bytes = scope.get("raw_path") or b""
    is_same = unquote(raw.decode("latin-1")) == scope["path"]
    path = raw.decode("latin-1") if is_same else quote(scope["path"], safe="/:@!$&'()*+,;=~")
    query = scope["query_string"].decode("latin-1")
    return f"http://localhost{path}{'?' if query else ''}{query}"


async def _read_body(receive: Receive) -> bytes | None:
    """Returns the body of a request; None when its client leaves before its end."""
    pieces = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(pieces)


async def _read_answer(asked: Exchange) -> bytes:
    pieces = []
    while piece := await asyncio.wrap_future(asked.take()):
        pieces.append(piece)
    return b"".join(pieces)


async def _pass_on(served: Served, asked: Exchange, send: Send) -> None:
    """Sends the server's answer as it comes. The server learns when nobody wants it any more."""
    begun = asyncio.wrap_future(asked.head)

    def leave() -> None:
        asked.leave()
        begun.cancel()

    served.call_when_left(leave)
    head = await begun
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in head.headers]
    await send({"type": "http.response.start", "status": head.status, "headers": headers})
    while piece := await asyncio.wrap_future(asked.take()):
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _answer_with(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
