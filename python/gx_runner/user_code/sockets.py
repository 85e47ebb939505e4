"""A WebSocket of a client with the application, as ASGI's `receive` and `send`."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from gx_runner.user_code.served import Served
from gx_runner.wall.wire import Message

# The forms of messages within the bodies of the exchange (socket-frames.ts).
_TEXT, _BYTES, _CLOSE = 1, 2, 8
_HEAD = struct.Struct("<BI")
# Codes of RFC 6455: done, nothing said, cut off, failed.
_DONE, _SILENT, _CUT_OFF, _FAILED = 1000, 1005, 1006, 1011
_ACCEPTED = 101
_FORBIDDEN = 403


class Closed(NamedTuple):
    """How a connection has ended."""

    code: int
    reason: str


class ServedSocket(Served):
    """One connection, in the loop of the application."""

    def __init__(self, number: int, scope: dict[str, Any], room: int, send: Any) -> None:
        scope.update({"extensions": {"websocket.http.response": {}}, "type": "websocket"})
        del scope["method"]
        super().__init__(number, scope, True, room, send)
        self._frames = bytearray()
        self._is_connected = False
        self._is_accepted = False
        self._closed: Closed | None = None

    async def receive(self) -> Message:
        """Returns the next event to the application."""
        if not self._is_connected:
            self._is_connected = True
            return {"type": "websocket.connect"}
        while self._closed is None:
            if (message := self._take_message()) is not None:
                return message
            heard = await self._request.receive_message()
            if heard["type"] == "http.request" and (heard["body"] or heard["more_body"]):
                self._frames += heard["body"]
            elif self._closed is None:
                self._closed = Closed(_CUT_OFF, "")
        return {"type": "websocket.disconnect", "code": self._closed.code, "reason": self._closed.reason}

    async def send(self, message: Message) -> None:
        """Takes an event of the application."""
        kind = message["type"]
        if self.left or (self._closed is not None and self._is_accepted):
            raise OSError("The client has left, or the connection is closed.")
        if kind == "websocket.accept" and not self.has_begun:
            self._accept(message)
        elif kind == "websocket.send" and self._is_accepted:
            await self._write_message(message)
        elif kind == "websocket.close":
            await self._close(message)
        elif kind == "websocket.http.response.start" and not self.has_begun:
            self._refuse(message["status"], message.get("headers", ()))
        elif kind == "websocket.http.response.body" and self.has_begun and not self._is_accepted:
            await self._write(bytes(message.get("body", b"")))
            if not message.get("more_body", False):
                self.end(None)
        else:
            raise RuntimeError(f"http.app sent {kind} where a connection does not take it.")

    def end(self, failure: str | None) -> None:
        """Ends a connection that the application has left, with or without an error."""
        if self._is_accepted and not self._over and not self.left and self._closed is None:
            self._closed = Closed(_DONE, "")
            self._send_frame(_CLOSE, struct.pack("<H", _DONE))
        super().end(None if self._is_accepted else failure)

    def can_ignore(self, error: BaseException) -> bool:
        """Returns whether the application was only informed that the connection is over."""
        return self._closed is not None and (isinstance(error, OSError) or type(error).__name__ == "WebSocketDisconnect")

    def fail(self, sentence: str) -> None:
        """Closes a connection whose application has failed."""
        if self._is_accepted and self._closed is None and not self.left:
            self._closed = Closed(_FAILED, "")
            self._send_frame(_CLOSE, struct.pack("<H", _FAILED))
        super().end(None if self._is_accepted else sentence)

    def leave(self) -> None:
        """Hears that the connection is over. The application hears it from `receive`, and may still do its own work."""
        self.left = True
        self._request.leave()
        self._granted.set()

    def _accept(self, message: Message) -> None:
        self._is_accepted = self.has_begun = self._has_answer_body = True
        headers = _decode_headers(message.get("headers", ()))
        if message.get("subprotocol") is not None:
            headers.append(("sec-websocket-protocol", message["subprotocol"]))
        self._send_message("answer", head={"status": _ACCEPTED, "headers": headers, "hasBody": True})

    def _refuse(self, status: int, headers: Any) -> None:
        self.has_begun = self._has_answer_body = True
        self._send_message("answer", head={"status": status, "headers": _decode_headers(headers), "hasBody": True})

    async def _write_message(self, message: Message) -> None:
        text = message.get("text")
        data = bytes(message["bytes"]) if text is None else text.encode()
        await self._write(_HEAD.pack(_BYTES if text is None else _TEXT, len(data)) + data)

    async def _close(self, message: Message) -> None:
        if not self._is_accepted:
            self._closed = Closed(_CUT_OFF, "")
            self._refuse(_FORBIDDEN, ())
            self.end(None)
            return
        code, reason = message.get("code", _DONE), message.get("reason") or ""
        self._closed = Closed(code, reason)
        data = struct.pack("<H", code) + reason.encode()
        await self._write(_HEAD.pack(_CLOSE, len(data)) + data)
        super().end(None)

    def _send_frame(self, form: int, data: bytes) -> None:
        """Sends a short message without waiting for room."""
        piece = _HEAD.pack(form, len(data)) + data
        self._send_message("chunk", piece, of="answer", bytes=len(piece))

    def _take_message(self) -> Message | None:
        """Returns the next message of the client, if it is whole."""
        if len(self._frames) < _HEAD.size:
            return None
        form, length = _HEAD.unpack_from(self._frames)
        if len(self._frames) < _HEAD.size + length:
            return None
        data = bytes(self._frames[_HEAD.size : _HEAD.size + length])
        del self._frames[: _HEAD.size + length]
        if form == _CLOSE:
            self._closed = Closed(struct.unpack_from("<H", data)[0] or _SILENT, data[2:].decode(errors="replace"))
            return {"type": "websocket.disconnect", "code": self._closed.code, "reason": self._closed.reason}
        if form == _TEXT:
            return {"type": "websocket.receive", "text": data.decode()}
        return {"type": "websocket.receive", "bytes": data}


def _decode_headers(headers: Any) -> list[tuple[str, str]]:
    return [(bytes(name).decode("latin-1"), bytes(value).decode("latin-1")) for name, value in headers]
