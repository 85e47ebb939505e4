"""The socket to the server: frames, questions with their answers, and signs of life."""

from __future__ import annotations

import asyncio
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

from gx_runner.encode import to_json

VERSION = "1.0"
BEAT_SECONDS = 0.5
# A frame that is longer is a fault (MOST in frames.ts).
LONGEST_FRAME = 256 * 1024 * 1024
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
        self._frames: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._waiting = 0
        self._count = threading.Lock()
        self._asked: dict[int, Future[Answer]] = {}
        self._last_ask = 0
        self._late: Callable[[], float] | None = None

    def send(self, message: Message, *attachments: bytes) -> None:
        """Sends a message, in which the attachments stand as their lengths, in the order of the schema."""
        header = to_json(message)
        length = 4 + len(header) + sum(map(len, attachments))
        if length + 4 > LONGEST_FRAME:
            raise ValueError(f"A value of {length} bytes is too long for the server, which takes {LONGEST_FRAME}.")
        frame = b"".join((struct.pack("<II", length, len(header)), header, *attachments))
        with self._count:
            self._waiting += len(frame)
        self._frames.put(frame)

    async def room(self) -> None:
        """Returns once the server has read most of what was sent."""
        while self._waiting > CROWDED:
            await asyncio.sleep(0.005)

    async def ask(self, message: Message, *attachments: bytes) -> Answer:
        """Asks the server. Raises `RefusedError`."""
        return await asyncio.wrap_future(self._ask(message, attachments))

    def ask_now(self, message: Message, *attachments: bytes) -> Answer:
        """Asks the server from code that can not await."""
        return self._ask(message, attachments).result()

    def _ask(self, message: Message, attachments: tuple[bytes, ...]) -> Future[Answer]:
        future: Future[Answer] = Future()
        with self._count:
            self._last_ask += 1
            ask_id = self._last_ask
            self._asked[ask_id] = future
        try:
            self.send({**message, "ask_id": ask_id}, *attachments)
        except BaseException:
            self._asked.pop(ask_id, None)
            raise
        return future

    def answered(self, message: Message, blobs: bytes) -> None:
        """Hands an answer to the code that asked."""
        future = self._asked.pop(message["ask_id"], None)
        # The task that asked may have been cancelled meanwhile.
        if future is None or not future.set_running_or_notify_cancel():
            return
        if message["kind"] == "refused":
            future.set_exception(RefusedError(message["status"], message["message"]))
        else:
            future.set_result(Answer(message, blobs))

    def live(self, late: Callable[[], float]) -> None:
        """From now on, sends signs of life; `late` returns by how many milliseconds the graphs' loop is late."""
        self._late = late

    def read(self, hear: Callable[[Message, bytes], None]) -> NoReturn:
        """Hears the server until the socket ends, which ends the process at once: its runs are another's by then."""
        threading.Thread(target=self._write, name="gx-wall", daemon=True).start()
        try:
            while True:
                total, length = struct.unpack("<II", self._exactly(8))
                header = orjson.loads(self._exactly(length))
                hear(header, self._exactly(total - 4 - length))
        except OSError:
            os._exit(0)

    def _exactly(self, count: int) -> bytes:
        taken = bytearray()
        while len(taken) < count:
            part = self._socket.recv(min(count - len(taken), CROWDED))
            if not part:
                os._exit(0)
            taken += part
        return bytes(taken)

    def _write(self) -> None:
        next_beat, used = time.monotonic(), time.process_time()
        while True:
            frames = self._gathered(next_beat - time.monotonic())
            if time.monotonic() >= next_beat:
                now = time.process_time()
                self._beat((now - used) / BEAT_SECONDS > BUSY)
                next_beat, used = time.monotonic() + BEAT_SECONDS, now
            if frames:
                self._send_all(b"".join(frames))

    def _gathered(self, seconds: float) -> list[bytes]:
        """Returns the frames that wait, after at most so many seconds."""
        frames: list[bytes] = []
        try:
            frames.append(self._frames.get(timeout=max(0.0, seconds)))
            while sum(map(len, frames)) < CROWDED:
                frames.append(self._frames.get_nowait())
        except queue.Empty:
            pass
        return frames

    def _send_all(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError:
            os._exit(0)
        with self._count:
            self._waiting -= len(data)

    def _beat(self, full: bool) -> None:
        if self._late is not None:
            self.send({"kind": "beat", "full": full, "late": self._late()})
