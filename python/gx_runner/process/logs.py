"""Lines that graphs log and print, with the ids of their runs."""

from __future__ import annotations

import contextvars
import datetime
import io
import logging
import re
import sys
import threading
import traceback
from typing import Any

from gx_runner.process.own_threads import pass_to_threads
from gx_runner.wall.wire import Wall

_IDS: contextvars.ContextVar[dict[str, Any] | None] = contextvars.ContextVar("gx_run", default=None)
# Characters of a line that are kept until it ends.
_LONGEST_BEGINNING = 10_000
_LEVELS = {"trace": 5, "debug": 10, "info": 20, "warn": 30, "error": 40, "fatal": 50, "silent": 100}


def set_run_ids(spec: dict[str, Any]) -> None:
    """From now on, lines of this task and of the tasks and threads that it starts carry the ids of the run."""
    kwargs = spec["kwargs"]
    request_id = kwargs["config"].get("configurable", {}).get("langgraph_request_id")
    # W3C's form: version, trace, span, flags.
    trace_id = kwargs["trace"]["traceparent"].split("-")[1] if "trace" in kwargs else spec["run_id"].replace("-", "")
    more = {"request_id": request_id} if isinstance(request_id, str) else {}
    _IDS.set({**{name: spec[name] for name in ("run_id", "thread_id", "graph_id")}, **more, "trace_id": trace_id})


def _find_node() -> dict[str, str]:
    if (module := sys.modules.get("langchain_core.runnables.config")) is None:
        return {}
    metadata = (module.var_child_runnable_config.get() or {}).get("metadata") or {}
    return {"node": metadata["langgraph_node"]} if "langgraph_node" in metadata else {}


def _find_level(level: int) -> str:
    return next(name for name, least in reversed(_LEVELS.items()) if level >= least or name == "trace")


class _Lines(logging.Handler):
    def __init__(self, wall: Wall, fields: dict[str, str]) -> None:
        super().__init__()
        self._wall = wall
        self._fields = fields

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = record.getMessage()
            # A warning of Python's has the line of code below it.
            text = re.sub(r"\n  .*\n?\Z", "", text) if record.name == "py.warnings" else text
            self.write(_find_level(record.levelno), text, record)
        except Exception:
            self.handleError(record)

    def write(
        self, level: str, text: str, record: logging.LogRecord | None = None, more: dict[str, str] | None = None
    ) -> None:
        time = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line: dict[str, Any] = {"level": level, "time": time, "process": "runner", **self._fields, **(more or {})}
        line |= {**(_IDS.get() or {}), **_find_node()}
        if record is not None:
            line["logger"] = record.name
            if record.exc_info is not None and (error := record.exc_info[1]) is not None:
                stack = "".join(traceback.format_exception(error))
                line["err"] = {"type": type(error).__name__, "message": str(error), "stack": stack}
        from gx_runner.wall.encode import to_json

        self._wall.send_now({"kind": "log", "line": to_json({**line, "msg": text}).decode()})


class _Printed(io.TextIOBase):
    """Standard output, or that of errors: a line that a run prints becomes a line of the log, any other one goes on."""

    def __init__(self, out: Any, lines: _Lines, **more: str) -> None:
        self._out = out
        self._lines = lines
        self._more = more
        # The beginning of each run's line: print() writes its arguments one by one.
        self._begun: dict[str, str] = {}

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if (ids := _IDS.get()) is None:
            self._out.write(text)
        else:
            *whole, rest = (self._begun.pop(ids["run_id"], "") + text).split("\n")
            for line in whole:
                self._write_line(line)
            if len(rest) > _LONGEST_BEGINNING:
                self._write_line(rest)
            elif rest:
                self._begun[ids["run_id"]] = rest
        return len(text)

    def _write_line(self, line: str) -> None:
        if line.strip():
            self._lines.write("info", line.rstrip("\r"), more=self._more)

    def flush(self) -> None:
        """Ends the line of the run that is under way, which may have no end of its own."""
        if (ids := _IDS.get()) is not None and (rest := self._begun.pop(ids["run_id"], "")):
            self._write_line(rest)
        self._out.flush()

    def fileno(self) -> int:
        return int(self._out.fileno())


def flush_prints() -> None:
    """Ends the lines that the run under way has begun to print."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, _Printed):
            stream.flush()


def serve_logs(wall: Wall, settings: dict[str, Any], source: str = "graph") -> None:
    """Sends the lines of `logging`, and those that runs print."""
    level = settings["logLevel"]
    lines = _Lines(wall, {**(settings.get("logFields") or {}), "source": source})
    logging.addLevelName(_LEVELS["trace"], "TRACE")
    logging.basicConfig(handlers=[lines], level=_LEVELS.get(level, logging.INFO), force=True)
    logging.captureWarnings(True)
    pass_to_threads(_IDS)
    threading.excepthook = _log_thread_failure
    sys.stdout = _Printed(sys.stdout, lines)
    sys.stderr = _Printed(sys.stderr, lines, stream="stderr")


def _log_thread_failure(failed: threading.ExceptHookArgs) -> None:
    # Nobody waits for a thread that a graph has started, so only the log can tell.
    if failed.exc_value is not None and not isinstance(failed.exc_value, SystemExit):
        logging.getLogger("gx_runner").error("a thread of a graph failed", exc_info=failed.exc_value)
