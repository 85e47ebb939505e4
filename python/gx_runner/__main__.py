"""Starts the runner: `python -m gx_runner`, with the socket to the server as file descriptor 3."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any

from gx_runner.exchange import Exchanges
from gx_runner.wire import VERSION, Message, Wall

if TYPE_CHECKING:
    from gx_runner.server import Server

_WALL = 3
_PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    """A process that is stopped or busy does not see the end of its socket. The kernel ends it with its parent."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _serve_environment(added: dict[str, str]) -> None:
    """Adds the variables that the real environment does not have, before any library reads them."""
    for name, value in added.items():
        os.environ.setdefault(name, value)
    # Values of classes that no state names stay data, unless the user says otherwise.
    os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")


class _Runner:
    def __init__(self, wall: Wall) -> None:
        self._wall = wall
        self._exchanges = Exchanges(wall)
        self._server: Server | None = None

    def hear(self, message: Message, blobs: bytes) -> None:
        if message["kind"] == "start":
            self._start(message)
        elif "ask_id" in message:
            self._wall.answered(message, blobs)
        elif message["kind"] == "exchange":
            # Not by the loop of the graphs, which a graph may hold while it waits for an answer.
            self._exchanges.hear(message["message"], blobs)
        elif self._server is not None:
            self._server.hear(message)

    def _start(self, message: dict[str, Any]) -> None:
        version = str(message["version"])
        if version.split(".")[0] != VERSION.split(".")[0]:
            theirs = f"The server speaks version {version} of the protocol, and this side speaks {VERSION}"
            self._wall.send({"kind": "broken", "sentence": f"{theirs}: the first numbers must be equal."})
            return
        _serve_environment(message["start"]["env"])
        try:
            # LangGraph reads the environment when it is imported.
            from gx_runner.server import Server
        except ImportError as error:
            sentence = f"The Python of the graphs ({sys.executable}) lacks a package: {error}. Install langgraph there."
            self._wall.send({"kind": "broken", "sentence": sentence})
            return
        self._server = Server(self._wall, self._exchanges)
        self._server.start(message["start"])


def main() -> None:
    """Serves the wall until its socket ends."""
    _die_with_parent()
    os.set_inheritable(_WALL, False)
    wall = Wall(socket.socket(fileno=_WALL))
    wall.read(_Runner(wall).hear)


main()
