"""How far the loop of the user's own code has come with the questions and exchanges of the server, by their numbers."""

from __future__ import annotations

import asyncio
import contextvars
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

from gx_runner.wall.wire import Wall

# The number that a task works for, which the tasks that it starts have from it.
_NUMBER: contextvars.ContextVar[int | None] = contextvars.ContextVar("gx_number", default=None)


class Progress:
    """Answers pings from the thread that reads the wall, also while the loop is held."""

    def __init__(self, wall: Wall, loop: asyncio.AbstractEventLoop, lost: Callable[[], bool]) -> None:
        """`lost` returns whether the process can do no more work, though its loop goes on."""
        self._wall = wall
        self._loop = loop
        self._lost = lost
        self._numbers: weakref.WeakKeyDictionary[asyncio.Task[Any], int] = weakref.WeakKeyDictionary()
        self._tasks: set[asyncio.Task[None]] = set()
        self._begun = 0
        # A question to the loop that it has not answered: the loop is held, unless the question is new.
        self._asks = False
        # The server heard that the loop is held.
        self._reported = False
        loop.set_task_factory(self._create_task)

    def begin(self, number: int, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Begins with a question or an exchange, in the loop."""
        context = contextvars.copy_context()
        context.run(_NUMBER.set, number)
        task: asyncio.Task[None] = context.run(self._loop.create_task, work)
        # The loop itself does not keep a task whose handler waits for something that nobody else keeps.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def begin_exchange(self, number: int, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Begins with an exchange, which must not be asked again in another process."""
        self._begun = number
        self._report_free()
        return self.begin(number, work)

    def answer_ping(self) -> None:
        """Answers a ping. No answer means that something without a number holds the process."""
        if self._lost():
            return
        if not self._asks:
            self._asks = True
            self._loop.call_soon_threadsafe(self._handle_answer)
            self._send_pong(0)
        elif (holder := self._find_holder()) is not None:
            self._reported = True
            self._send_pong(holder)
        else:
            self._reported = True

    def _create_task(self, loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
        task = asyncio.Task(work, loop=loop, **options)
        if (number := _NUMBER.get()) is not None:
            self._numbers[task] = number
        return task

    def _handle_answer(self) -> None:
        self._asks = False
        self._report_free()

    def _report_free(self) -> None:
        """Takes back the report that the loop is held: from now on the server must not rely on it."""
        if self._reported:
            self._reported = False
            self._send_pong(0)

    def _find_holder(self) -> int | None:
        task = asyncio.current_task(self._loop)
        return None if task is None else self._numbers.get(task)

    def _send_pong(self, holds: int) -> None:
        self._wall.send({"kind": "pong", "holds": holds, "begun": self._begun})
