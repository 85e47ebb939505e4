"""Threads that a graph starts by itself: they know the run that they work for.

A new thread has no context variables of the one that starts it, and a thread of a pool serves many runs. So lines that
they log and requests that they send would name no run. OpenTelemetry's `instrumentation-threading` patches the same two
classes for the same reason. Only the variables that are given here are passed on: the graph's own stay as Python has
them.
"""

from __future__ import annotations

import concurrent.futures
import contextvars
import functools
import threading
from collections.abc import Callable
from typing import Any

_Values = list[tuple[contextvars.ContextVar[Any], Any]]

_PASSED: list[contextvars.ContextVar[Any]] = []


def pass_to_threads(variable: contextvars.ContextVar[Any]) -> None:
    """From now on, threads and calls in pools of threads begin with the value that the variable has where they start.

    A variable without a value there, or with None, is not passed on.
    """
    if not _PASSED:
        _serve_threads()
        _serve_pools()
    if variable not in _PASSED:
        _PASSED.append(variable)


def _list_values() -> _Values:
    return [(variable, value) for variable in _PASSED if (value := variable.get(None)) is not None]


def _begin(values: _Values, run: Callable[[], None]) -> None:
    # The values stay until the thread is gone, so that a failure that nobody catches is logged with them.
    for variable, value in values:
        variable.set(value)
    run()


def _call(values: _Values, function: Callable[..., Any], /, *args: Any, **given: Any) -> Any:
    # The thread of a pool takes calls of other runs afterwards.
    tokens = [(variable, variable.set(value)) for variable, value in values]
    try:
        return function(*args, **given)
    finally:
        for variable, token in tokens:
            variable.reset(token)


def _serve_threads() -> None:
    start = threading.Thread.start

    @functools.wraps(start)
    def start_with_values(self: threading.Thread) -> None:
        # The values of a pool's thread come with each call.
        if (values := _list_values()) and not _is_of_pool(self):
            self.run = functools.partial(_begin, values, self.run)  # type: ignore[method-assign]
        start(self)

    threading.Thread.start = start_with_values  # type: ignore[method-assign]


def _is_of_pool(thread: threading.Thread) -> bool:
    return getattr(getattr(thread, "_target", None), "__module__", None) == "concurrent.futures.thread"


def _serve_pools() -> None:
    kind = concurrent.futures.ThreadPoolExecutor
    submit: Callable[..., Any] = kind.submit

    @functools.wraps(submit)
    def run_with_values(self: Any, function: Callable[..., Any], /, *args: Any, **given: Any) -> Any:
        if values := _list_values():
            return submit(self, _call, values, function, *args, **given)
        return submit(self, function, *args, **given)

    kind.submit = run_with_values  # type: ignore[method-assign]
