"""Requests to the server, which cross the wall as messages of src/schema/wire/wall/exchange.ts."""

from __future__ import annotations

import collections
import threading
from concurrent.futures import Future
from typing import NamedTuple

from gx_runner.wall.encode import to_json
from gx_runner.wall.wire import Message, Wall

Pairs = list[tuple[str, str]]

# Bytes of a body that may be on their way.
WINDOW = 256 * 1024
# Bytes of one message, so that other messages find room between those of a long body.
PIECE = 64 * 1024
_OWN_CALL: Message = {"want": "call"}


class Head(NamedTuple):
    """The first part of an answer."""

    status: int
    headers: Pairs


class BrokenOffError(Exception):
    """The rest of an answer is missing."""


class Exchanges:
    """The requests under way. Any thread may ask; the thread that reads the wall hears the answers."""

    def __init__(self, wall: Wall) -> None:
        self._wall = wall
        self._lock = threading.Lock()
        self._asked: dict[int, Exchange] = {}
        self._last = 0

    def ask(self, method: str, url: str, headers: Pairs, body: bytes, purpose: Message = _OWN_CALL) -> Exchange:
        """Sends a request, which is one of the user's code itself unless it has another purpose."""
        with self._lock:
            self._last += 1
            number = self._last
            asked = self._asked[number] = Exchange(self, number, body)
        head = {"method": method, "url": url, "headers": headers, "hasBody": body != b""}
        self.send({"kind": "ask", "exchange": number, "head": head, "purpose": purpose})
        return asked

    def handle_message(self, message: Message, blobs: bytes) -> None:
        """Takes a message of the server. One of an exchange that is over is ignored."""
        if (asked := self._asked.get(message["exchange"])) is not None:
            asked.handle_message(message, blobs)

    def send(self, message: Message, *attachments: bytes) -> None:
        """Sends a message of an exchange."""
        self._wall.send({"kind": "exchange", "message": message}, *attachments)

    def remove(self, number: int) -> None:
        """Ignores all further messages of an exchange."""
        self._asked.pop(number, None)


class Exchange:
    """One request with its answer. `head` is there once the answer has begun."""

    def __init__(self, exchanges: Exchanges, number: int, body: bytes) -> None:
        self._exchanges = exchanges
        self._number = number
        self._rest = memoryview(body)
        self.head: Future[Head] = Future()
        self._lock = threading.Lock()
        self._pieces: collections.deque[bytes] = collections.deque()
        self._waiting: Future[bytes] | None = None
        self._begun = False
        self._over = False
        self._failure: str | None = None

    def take(self) -> Future[bytes]:
        """Returns the next piece of the answer's body, which is empty at its end. One piece is taken at a time."""
        if not self._begun:
            self._begun = True
            if not self._over:
                self._send("more", of="answer", bytes=WINDOW)
        with self._lock:
            self._waiting = future = Future[bytes]()
        self._serve()
        return future

    def leave(self) -> None:
        """Ends the exchange, whose answer is not wanted any more."""
        if self._over:
            return
        self._over = True
        if self.head.done() and not self.head.cancelled():
            self._send("stop", of="answer")
        else:
            self._send("leave")
        self._exchanges.remove(self._number)
        self._pieces.clear()
        self._serve()

    def handle_message(self, message: Message, blobs: bytes) -> None:
        """Goes on with the request."""
        kind = message["kind"]
        if kind == "more":
            self._send_body(message["bytes"])
        elif kind == "stop":
            self._rest = memoryview(b"")
        elif kind == "answer":
            head = message["head"]
            if not head["hasBody"]:
                self._end(None)
            self._answer(head["status"], [(name, value) for name, value in head["headers"]])
        elif kind == "refused":
            self._handle_refusal(message)
        elif kind == "chunk" and blobs:
            self._push(blobs)
        elif kind == "end":
            self._end(message.get("failure"))

    def _send(self, kind: str, **fields: object) -> None:
        self._exchanges.send({"kind": kind, "exchange": self._number, **fields})

    def _send_body(self, room: int) -> None:
        """Sends as much of the request's body as there is room for."""
        while room > 0 and self._rest:
            size = min(room, PIECE)
            piece, self._rest = bytes(self._rest[:size]), self._rest[size:]
            room -= len(piece)
            message = {"kind": "chunk", "exchange": self._number, "of": "request", "bytes": len(piece)}
            self._exchanges.send(message, piece)
            if not self._rest:
                self._send("end", of="request")

    def _answer(self, status: int, headers: Pairs) -> None:
        # The code that asked may have been cancelled meanwhile.
        if self.head.set_running_or_notify_cancel():
            self.head.set_result(Head(status, headers))

    def _handle_refusal(self, message: Message) -> None:
        """A refusal is an answer, as it is for any client."""
        self._push(to_json({"detail": message["message"]}))
        self._end(None)
        self._answer(message["status"], [*message["headers"].items(), ("content-type", "application/json")])

    def _push(self, piece: bytes) -> None:
        with self._lock:
            self._pieces.append(piece)
        self._serve()

    def _end(self, failure: str | None) -> None:
        self._failure = failure
        self._over = True
        self._exchanges.remove(self._number)
        self._serve()

    def _serve(self) -> None:
        """Gives the code that waits the next piece, or the end."""
        with self._lock:
            waiting = self._waiting
            if waiting is None or not (self._pieces or self._over):
                return
            self._waiting = None
            if not waiting.set_running_or_notify_cancel():
                return
            piece = self._pieces.popleft() if self._pieces else b""
        if piece and not self._over:
            self._send("more", of="answer", bytes=len(piece))
        if not piece and self._failure is not None:
            waiting.set_exception(BrokenOffError(self._failure))
        else:
            waiting.set_result(piece)
