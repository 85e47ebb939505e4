"""The event loops that runs are carried out on: that of the graphs for all of them, or several with a thread each."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

_log = logging.getLogger("gx_runner")


class Loops:
    """Gives each run a loop. A run that holds a loop of its own stalls no other one."""

    def __init__(self, shared: asyncio.AbstractEventLoop, executor: ThreadPoolExecutor, isolated: int) -> None:
        """`isolated` loops have a thread each, with one executor for all; none: all runs are on the shared loop."""
        loops = [_open_loop(executor, f"gx-run-{number}") for number in range(isolated)]
        self._load = dict.fromkeys(loops or [shared], 0)
        self._count = threading.Lock()

    def take(self) -> asyncio.AbstractEventLoop:
        """Returns the loop with the fewest runs."""
        with self._count:
            loop = min(self._load, key=lambda one: self._load[one])
            self._load[loop] += 1
            return loop

    def give_back(self, loop: asyncio.AbstractEventLoop) -> None:
        """Hears that a run has ended on a loop."""
        with self._count:
            self._load[loop] -= 1


def _open_loop(executor: ThreadPoolExecutor, name: str) -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    loop.set_default_executor(executor)
    threading.Thread(target=run_forever, args=(loop,), name=name, daemon=True).start()
    return loop


def run_forever(loop: asyncio.AbstractEventLoop) -> None:
    """Runs a loop. A graph that calls sys.exit must not end its neighbours."""
    asyncio.set_event_loop(loop)
    # A handler is called in the context of the task that failed, from Python 3.12 on; so its line has the run's ids.
    loop.set_exception_handler(lambda _, failed: loop.default_exception_handler(failed))
    while True:
        try:
            loop.run_forever()
            os._exit(0)
        except (SystemExit, KeyboardInterrupt):
            _log.error("sys.exit was called: a graph ends by returning or raising.")


def run_on(loop: asyncio.AbstractEventLoop, work: Callable[[], object]) -> None:
    """Does the work on a loop, behind all that was asked of it before; at once where this is its thread."""
    if loop is asyncio.get_running_loop():
        work()
    else:
        loop.call_soon_threadsafe(work)
