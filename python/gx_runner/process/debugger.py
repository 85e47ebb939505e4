"""Lets a debugger attach to the graphs, by the debugpy of the project."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import socket
import sys
import threading
import time

_HOST = "127.0.0.1"
# The process before this one has the port until it ends. Seconds after which the log tells of a port that is in use.
_WARNS_AFTER = 10
_LOOK_EVERY = 0.1
_log = logging.getLogger("gx_runner")


def check_debugger() -> str | None:
    """Returns why no debugger can attach."""
    if importlib.util.find_spec("debugpy") is not None:
        return None
    return f"--debug-port needs the package debugpy, which {sys.executable} does not have: install it there"


def serve_debugger(port: int) -> None:
    """Opens the port for a debugger, as soon as it is free, in a thread of its own.

    The other threads that there are now speak to the server, and go on while this one stands at a breakpoint.
    """
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.pydev_do_not_trace = True  # type: ignore[attr-defined]
    threading.Thread(target=_serve, args=(port,), name="gx-debugger", daemon=True).start()


def _serve(port: int) -> None:
    begun, warned = time.monotonic(), False
    while not _is_free(port):
        if not warned and time.monotonic() - begun > _WARNS_AFTER:
            warned = True
            _log.warning("no debugger can attach, because port %d is in use", port)
        time.sleep(_LOOK_EVERY)
    # Its warning is about breakpoints in modules that are frozen into Python itself.
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    importlib.import_module("debugpy").listen((_HOST, port))
    _log.info("a debugger may attach at %s:%d", _HOST, port)


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((_HOST, port))
        except OSError:
            return False
    return True
