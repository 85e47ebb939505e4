"""Starts the runner, with the socket to the server as file descriptor 3.

`python -m gx_runner` runs graphs, and `python -m gx_runner user-code` the user's own code beside them.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

# The server says in one sentence what is missing and which command brings it, and no traceback stands before that.
# Packages that only extend LangGraph make a module of the name, too.
if sys.version_info < (3, 11) or not (find_spec("langgraph") and find_spec("langgraph.graph")):
    sys.exit(1)

from gx_runner.graphs.modules import add_import_folders, describe_failed_import
from gx_runner.oldest import OLDEST, find_older_langgraph
from gx_runner.wall.wire import VERSION, Message, Wall

Handler = Callable[[Message, bytes], None]

USER_CODE = "user-code"
_WALL = 3
_PR_SET_PDEATHSIG = 1
_STRICT = "LANGGRAPH_STRICT_MSGPACK"


def _end_with_parent() -> None:
    """A process that is stopped or busy does not see the end of its socket. The kernel ends it with its parent."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _leave_ends_to_parent() -> None:
    """Ctrl-C and a supervisor signal all processes of a group. The server stops its runs first, and then the runner.

    These are handlers, because processes of the user's code would inherit that a signal is ignored.
    """
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, lambda *_: None)


def _serve_environment(start: dict[str, Any]) -> None:
    """Adds the variables that the real environment does not have, before any library reads them."""
    for name, value in start["env"].items():
        os.environ.setdefault(name, value)
    if (strict := os.environ.get(_STRICT)) is not None:
        # The user's word means what it means to LangGraph: the classes that states name, or any callable.
        allowed = None if strict.lower() in ("1", "true", "yes") else True
        start["serde"] = {"allowed_msgpack_modules": allowed, **(start.get("serde") or {})}
    # Without it, LangGraph does not tell the serializer which classes a state names.
    os.environ.setdefault(_STRICT, "true")


class _Runner:
    """Hears the first message, and the side that it starts hears all others."""

    def __init__(self, wall: Wall, role: str) -> None:
        self._wall = wall
        self._role = role
        self._handler: Handler | None = None

    def handle_message(self, message: Message, blobs: bytes) -> None:
        if message["kind"] == "start":
            self._start(message)
        elif self._handler is not None:
            self._handler(message, blobs)

    def _start(self, message: dict[str, Any]) -> None:
        version = str(message["version"])
        if version.split(".")[0] != VERSION.split(".")[0]:
            theirs = f"The server speaks version {version} of the protocol, and this side speaks {VERSION}"
            self._report_broken(f"{theirs}: the first numbers must be equal.")
            return
        _serve_environment(message["start"])
        if (fault := _start_development(message["start"].get("development") or {})) is not None:
            self._report_broken(fault)
            return
        if self._role != USER_CODE and (older := find_older_langgraph()) is not None:
            oldest = ".".join(map(str, OLDEST))
            self._report_broken(f"Graphs in Python need LangGraph {oldest} or newer, and {sys.executable} has {older}.")
            return
        try:
            # Libraries read the environment when they are imported.
            self._handler = (_start_user_code if self._role == USER_CODE else _start_graphs)(self._wall, message["start"])
        except ImportError as error:
            needed = "langgraph_sdk" if self._role == USER_CODE else "langgraph"
            where = f"The Python of the {'user code' if self._role == USER_CODE else 'graphs'} ({sys.executable})"
            self._report_broken(f"{where} lacks a package: {error}. Install {needed} there.")
        except Exception as error:
            # Packages that do not fit together fail in many ways, and each server of theirs fails with them.
            fault = describe_failed_import(error)
            who = f"The Python of the graphs ({sys.executable})"
            self._report_broken(f"{who} can't import its own packages: {fault}. Install versions that fit together.")

    def _report_broken(self, sentence: str) -> None:
        self._wall.send({"kind": "broken", "sentence": sentence})


def _start_development(wanted: dict[str, Any]) -> str | None:
    """Begins with what a developer's server asks for. Returns why it can't."""
    if (milliseconds := wanted.get("blockingMilliseconds")) is not None:
        from gx_runner.process.blocking import Blocking

        Blocking(milliseconds).watch()
    if wanted.get("debugPort") is None:
        return None
    from gx_runner.process.debugger import check_debugger

    return check_debugger()


@contextlib.contextmanager
def _keep_imports() -> Iterator[None]:
    """What is imported meanwhile stays, so the garbage collector looks at it neither now nor later. That takes a tenth."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _start_graphs(wall: Wall, settings: dict[str, Any]) -> Handler:
    with _keep_imports():
        from gx_runner.running.server import Server
        from gx_runner.wall.exchange import Exchanges

    exchanges = Exchanges(wall)
    server = Server(wall, exchanges)
    server.start(settings)

    def handle_message(message: Message, blobs: bytes) -> None:
        if "ask_id" in message:
            wall.handle_answer(message, blobs)
        elif message["kind"] == "exchange":
            # Not by the loop of the graphs, which a graph may hold while it waits for an answer.
            exchanges.handle_message(message["message"], blobs)
        else:
            server.forward_message(message)

    return handle_message


def _start_user_code(wall: Wall, settings: dict[str, Any]) -> Handler:
    with _keep_imports():
        from gx_runner.user_code.loop import UserCode

    code = UserCode(wall)
    code.start(settings)
    return code.handle_message


def main() -> None:
    """Serves the wall until its socket ends."""
    _end_with_parent()
    _leave_ends_to_parent()
    os.set_inheritable(_WALL, False)
    add_import_folders()
    wall = Wall(socket.socket(fileno=_WALL))
    wall.read(_Runner(wall, " ".join(sys.argv[1:])).handle_message)


main()
