"""The threads in which handlers run that are plain functions."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import itertools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

# Functions that may wait for something at a time.
_THREADS = 40
# Seconds after which a function counts as one that never ends; the server gives its answer up earlier.
_LOST = 30


class Threads:
    """Calls functions, in threads where they are not async."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="gx-handler")
        self._numbers = itertools.count()
        self._begun: dict[int, float] = {}

    async def call(self, function: Callable[..., Any], **given: Any) -> Any:
        """Returns the answer of the function."""
        if _is_async(function):
            return await function(**given)
        work = functools.partial(contextvars.copy_context().run, self._run, function, given)
        answer = await asyncio.get_running_loop().run_in_executor(self._executor, work)
        return await answer if inspect.isawaitable(answer) else answer

    def _run(self, function: Callable[..., Any], given: dict[str, Any]) -> Any:
        number = next(self._numbers)
        self._begun[number] = time.monotonic()
        try:
            return function(**given)
        finally:
            del self._begun[number]

    @property
    def is_exhausted(self) -> bool:
        """Returns whether functions that never end hold all threads."""
        begun = list(self._begun.values())
        return len(begun) >= _THREADS and time.monotonic() - max(begun) > _LOST


def _is_async(function: Callable[..., Any]) -> bool:
    inner = function.func if isinstance(function, functools.partial) else function
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(type(inner).__call__)
