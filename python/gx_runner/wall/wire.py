"""The socket to the server: frames, questions with their answers, and signs of life."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import socket
import struct
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, NoReturn

import orjson

from gx_runner.wall.encode import to_json

VERSION = "1.0"
BEAT_SECONDS = 0.5
# A frame that is longer is a fault (MOST in frames.ts).
LONGEST_FRAME = 256 * 1024 * 1024
# Bytes that are read at a time.
_PIECE = 64 * 1024
# Bytes that wait to be sent, above which runs wait before they make more events.
CROWDED = 1024 * 1024
# The shares of a processor between two beats above which another runner should take new work.
BUSY = 0.9

Message = dict[str, Any]


class Answer(NamedTuple):
    """The answer to a question, and the bytes behind it."""

    message: Message
    blobs: bytes


class RefusedError(Exception):
    """The server refuses a question, with an HTTP status and a sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Wall:
    """Sends frames from any thread, in the order of the calls. The thread that calls `read` hears all that comes."""

    def __init__(self, wall: socket.socket) -> None:
        self._socket = wall
        self._lock = threading.Lock()
        # Frames that wait for the end of the turn in which the loop of a thread makes them.
        self._pending: list[bytes] = []
        self._turn_of: int | None = None
        # What the socket did not take at once, and its bytes until they are sent.
        self._rest: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._waiting = 0
        self._asked: dict[int, Future[Answer]] = {}
        self._last_ask = 0
        self._late: Callable[[], float] | None = None

    def send(self, message: Message, *attachments: bytes) -> None:
        """Sends a message, in which the attachments stand as their lengths, in the order of the schema.

        What a loop sends in one turn leaves at its end, in one piece.
        """
        header = to_json(message)
        length = 4 + len(header) + sum(map(len, attachments))
        if length + 4 > LONGEST_FRAME:
            raise ValueError(f"A value of {length} bytes is too long for the server, which takes {LONGEST_FRAME}.")
        frame = b"".join((struct.pack("<II", length, len(header)), header, *attachments))
        loop, thread = asyncio._get_running_loop(), threading.get_ident()
        with self._lock:
            self._pending.append(frame)
            if loop is not None and self._turn_of == thread:
                return
            waits = loop is not None and self._turn_of is None
            if waits:
                self._turn_of = thread
        if waits and loop is not None:
            loop.call_soon(self._end_turn)
        else:
            self._flush()

    def send_now(self, message: Message) -> None:
        """Sends a message that must not be lost with the process, which may end within the turn of the loop."""
        self.send(message)
        self._flush()

    def _end_turn(self) -> None:
        self._turn_of = None
        self._flush()

    def _flush(self) -> None:
        """Sends what is pending, by the thread that calls. What the socket does not take is sent by another thread."""
        with self._lock:
            if not self._pending:
                return
            data = self._pending[0] if len(self._pending) == 1 else b"".join(self._pending)
            self._pending.clear()
            if self._waiting == 0:
                data = data[self._send_at_once(data) :]
            if data:
                self._waiting += len(data)
                self._rest.put(data)

    def _send_at_once(self, data: bytes) -> int:
        """Returns how many bytes the socket took at once."""
        try:
            return self._socket.send(data, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0
        except OSError:
            os._exit(0)

    async def wait_for_room(self) -> None:
        """Returns once the server has read most of what was sent."""
        while self._waiting > CROWDED:
            await asyncio.sleep(0.005)

    async def ask(self, message: Message, *attachments: bytes) -> Answer:
        """Asks the server. Raises `RefusedError`."""
        return await asyncio.wrap_future(self._ask(message, attachments))

    def ask_now(self, message: Message, *attachments: bytes) -> Answer:
        """Asks the server from code that can not await."""
        future = self._ask(message, attachments)
        # The thread may be that of a loop, which makes no other turn meanwhile.
        self._flush()
        return future.result()

    def _ask(self, message: Message, attachments: tuple[bytes, ...]) -> Future[Answer]:
        future: Future[Answer] = Future()
        with self._lock:
            self._last_ask += 1
            ask_id = self._last_ask
            self._asked[ask_id] = future
        try:
            self.send({**message, "ask_id": ask_id}, *attachments)
        except BaseException:
            self._asked.pop(ask_id, None)
            raise
        return future

    def handle_answer(self, message: Message, blobs: bytes) -> None:
        """Hands an answer to the code that asked."""
        future = self._asked.pop(message["ask_id"], None)
        # The task that asked may have been cancelled meanwhile.
        if future is None or not future.set_running_or_notify_cancel():
            return
        if message["kind"] in ("refused", "not_admitted"):
            future.set_exception(RefusedError(message["status"], message["message"]))
        else:
            future.set_result(Answer(message, blobs))

    def start_beats(self, late: Callable[[], float]) -> None:
        """From now on, sends signs of life; `late` returns by how many milliseconds the graphs' loop is late."""
        self._late = late

    def read(self, handle: Callable[[Message, bytes], None]) -> NoReturn:
        """Hears the server until the socket ends, which ends the process at once: its runs are another's by then."""
        threading.Thread(target=self._write, name="gx-wall", daemon=True).start()
        taken = bytearray()
        try:
            while piece := self._socket.recv(_PIECE):
                taken += piece
                del taken[: self._handle_frames(taken, handle)]
        except OSError:
            pass
        os._exit(0)

    def _handle_frames(self, taken: bytearray, handle: Callable[[Message, bytes], None]) -> int:
        """Hears the frames that are whole, and returns their bytes."""
        at = 0
        while len(taken) - at >= 8:
            total, length = struct.unpack_from("<II", taken, at)
            begin, end = at + 8, at + 4 + total
            if len(taken) < end:
                break
            header = orjson.loads(bytes(taken[begin : begin + length]))
            handle(header, bytes(taken[begin + length : end]))
            at = end
        return at

    def _write(self) -> None:
        """Sends what the socket did not take at once, and the signs of life."""
        next_beat, used = time.monotonic(), time.process_time()
        while True:
            with contextlib.suppress(queue.Empty):
                self._send_all(self._rest.get(timeout=max(0.0, next_beat - time.monotonic())))
            if time.monotonic() >= next_beat:
                now = time.process_time()
                self._send_beat((now - used) / BEAT_SECONDS > BUSY)
                next_beat, used = time.monotonic() + BEAT_SECONDS, now

    def _send_all(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError:
            os._exit(0)
        with self._lock:
            self._waiting -= len(data)

    def _send_beat(self, full: bool) -> None:
        if self._late is not None:
            self.send({"kind": "beat", "full": full, "late": self._late()})
