"""Tells a developer of code that holds an event loop: once for each place, while all else on the loop waits."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
import traceback
from types import FrameType
from typing import Any

from gx_runner.graphs.modules import find_user_place, is_own

# Seconds between two looks at what the loops do.
_LOOK_EVERY = 0.02
# A look that comes so late says that the machine is busy, and not that code holds the loop.
_LATE_SECONDS = 0.05
_log = logging.getLogger("gx_runner")

# The one sentence about code that holds a loop, for its place and its milliseconds.
SENTENCE = (
    "%s holds the event loop for more than %d ms, and everything else waits meanwhile: "
    "await an asynchronous call there, or hand the work to a thread with asyncio.to_thread"
)


class Blocking:
    """Watches the callbacks of all loops of the process."""

    def __init__(self, milliseconds: int) -> None:
        """A callback may hold its loop for so long."""
        self._milliseconds = milliseconds
        # The callback that each thread is in, and since when.
        self._under_way: dict[int, tuple[float, asyncio.Handle]] = {}
        self._reported: set[str] = set()

    def watch(self) -> None:
        """Begins to watch, in a thread of its own."""
        original: Any = asyncio.Handle._run
        under_way = self._under_way

        def run(handle: asyncio.Handle) -> None:
            thread = threading.get_ident()
            outer = under_way.get(thread)
            under_way[thread] = (time.monotonic(), handle)
            try:
                original(handle)
            finally:
                # A loop may run within a callback of another one.
                if outer is None:
                    del under_way[thread]
                else:
                    under_way[thread] = outer

        asyncio.Handle._run = run  # type: ignore[assignment, method-assign]
        threading.Thread(target=self._look, name="gx-blocking", daemon=True).start()

    def _look(self) -> None:
        last = time.monotonic()
        while True:
            time.sleep(_LOOK_EVERY)
            last, before = time.monotonic(), last
            if last - before < _LOOK_EVERY + _LATE_SECONDS:
                self._report_blocked(last - self._milliseconds / 1000)

    def _report_blocked(self, latest: float) -> None:
        frames = sys._current_frames()
        for thread, (since, handle) in list(self._under_way.items()):
            if since < latest and (frame := frames.get(thread)) is not None:
                self._report_place(frame, handle)

    def _report_place(self, frame: FrameType, handle: asyncio.Handle) -> None:
        stack = traceback.extract_stack(frame)
        place = find_user_place(stack)
        if place is None or place in self._reported:
            return
        self._reported.add(place)
        first = next(number for number, one in enumerate(stack) if is_own(one.filename))
        lines = "".join(traceback.format_list(stack[first:])).rstrip()
        # The context of the callback has the ids of its run.
        context = handle._context.copy()  # type: ignore[attr-defined]
        context.run(_log.warning, f"{SENTENCE}\n%s", place, self._milliseconds, lines)
