"""A request of the server to the application, as ASGI's `receive` and `send`."""

from __future__ import annotations

import asyncio
import collections
from collections.abc import Callable
from typing import Any

from gx_runner.user_code.requests import Scope
from gx_runner.wall.exchange import PIECE, WINDOW
from gx_runner.wall.wire import Message

# The answers to these have no body, whatever the application sends.
_BODILESS = (204, 205, 304)


class Served:
    """One request under way, in the loop of the application."""

    def __init__(self, number: int, scope: Scope, has_body: bool, room: int, send: Callable[..., None]) -> None:
        """`room` are bytes of the answer that may be sent at once. `send` sends a message, with its attachments."""
        self.number = number
        self.scope = scope
        self.has_body = has_body
        self.has_begun = False
        self.left = False
        self.task: asyncio.Task[None] | None = None
        self._send = send
        self._request = _Request(has_body, self._send_message)
        self._room = room
        self._granted = asyncio.Event()
        self._when_left: list[Callable[[], None]] = []
        self._has_answer_body = False
        self._over = False

    @property
    def is_read(self) -> bool:
        """Returns whether something of the request's body is gone."""
        return self.has_body and self._request.is_asked

    async def receive(self) -> Message:
        """Returns the next message to the application."""
        return await self._request.receive_message()

    async def send(self, message: Message) -> None:
        """Takes a message of the application."""
        kind = message["type"]
        if self.left:
            raise OSError("Nobody wants the answer any more.")
        if kind == "http.response.start":
            self._begin(message["status"], message.get("headers", ()))
        elif kind == "http.response.body" and self._has_answer_body and not self._over:
            await self._write(bytes(message.get("body", b"")))
            if not message.get("more_body", False):
                self.end(None)

    def end(self, failure: str | None) -> None:
        """Ends an answer that has begun; a failure says that it is not whole."""
        if self._over or self.left:
            return
        self._over = True
        if self._has_answer_body:
            self._send_message("end", of="answer", **({} if failure is None else {"failure": failure}))

    def can_ignore(self, error: BaseException) -> bool:
        """Returns whether an error of the application is no failure."""
        return False

    def fail(self, sentence: str) -> None:
        """Ends an answer that has begun, after a failure of the application."""
        self.end(sentence)

    def handle_message(self, message: Message, blobs: bytes) -> None:
        """Hears of the request's body, and of the reader of the answer."""
        kind = message["kind"]
        if kind == "chunk":
            self._request.push(blobs)
        elif kind == "end":
            self._request.end(whole="failure" not in message)
        elif kind == "more":
            self._room += message["bytes"]
            self._granted.set()

    def leave(self) -> None:
        """Hears that nobody wants the answer any more."""
        self.left = True
        self._request.leave()
        self._granted.set()
        for act in self._when_left:
            act()
        # An answer that is under way may wait for something that never comes.
        if self.has_begun and not self._over and self.task is not None:
            self.task.cancel()

    def call_when_left(self, act: Callable[[], None]) -> None:
        """Has something done once nobody wants the answer any more."""
        if self.left:
            act()
        else:
            self._when_left.append(act)

    def _begin(self, status: int, headers: Any) -> None:
        self.has_begun = True
        self._has_answer_body = self.scope["method"] != "HEAD" and status not in _BODILESS
        pairs = [(bytes(name).decode("latin-1"), bytes(value).decode("latin-1")) for name, value in headers]
        self._send_message("answer", head={"status": status, "headers": pairs, "hasBody": self._has_answer_body})

    async def _write(self, body: bytes) -> None:
        rest = memoryview(body)
        while rest and not self.left:
            while self._room <= 0 and not self.left:
                self._granted.clear()
                await self._granted.wait()
            piece, rest = bytes(rest[:PIECE]), rest[PIECE:]
            if not self.left:
                self._room -= len(piece)
                self._send_message("chunk", piece, of="answer", bytes=len(piece))

    def _send_message(self, kind: str, *attachments: bytes, **fields: Any) -> None:
        self._send({"kind": kind, "exchange": self.number, **fields}, *attachments)


class _Request:
    """The body of a request, of which nothing is sent before the application reads."""

    def __init__(self, has_body: bool, send_message: Callable[..., None]) -> None:
        self._send_message = send_message
        self._chunks: collections.deque[bytes] = collections.deque()
        self._heard = asyncio.Event()
        self.is_asked = not has_body
        self._ended = not has_body
        self._delivered = False
        self._left = False

    async def receive_message(self) -> Message:
        if self._delivered:
            await self._wait_until(lambda: self._left)
            return {"type": "http.disconnect"}
        if not self.is_asked:
            self.is_asked = True
            self._send_message("more", of="request", bytes=WINDOW)
        await self._wait_until(lambda: bool(self._chunks) or self._ended or self._left)
        if self._left:
            return {"type": "http.disconnect"}
        chunk = self._chunks.popleft() if self._chunks else b""
        if chunk and not self._ended:
            self._send_message("more", of="request", bytes=len(chunk))
        self._delivered = self._ended and not self._chunks
        return {"type": "http.request", "body": chunk, "more_body": not self._delivered}

    def push(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._heard.set()

    def end(self, *, whole: bool) -> None:
        # A body that broke off is that of a client who has left.
        self._ended, self._left = True, self._left or not whole
        self._heard.set()

    def leave(self) -> None:
        self._left = True
        self._heard.set()

    async def _wait_until(self, come: Callable[[], bool]) -> None:
        while not come():
            self._heard.clear()
            await self._heard.wait()
