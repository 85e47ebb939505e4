"""The lifespan of an ASGI application: what it opens before its first request, and closes behind its last."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from gx_runner.graphs.modules import LoadError
from gx_runner.wall.wire import Message


class Lifespan:
    """The lifespan of one application. An application that knows none is served without."""

    def __init__(self, app: Any) -> None:
        self.state: dict[str, Any] = {}
        self._app = app
        self._to_app: asyncio.Queue[Message] = asyncio.Queue()
        self._heard: asyncio.Queue[Message] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    async def enter(self) -> None:
        """Begins it. Raises `LoadError` when it fails."""
        scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": self.state}
        self._task = asyncio.get_running_loop().create_task(self._app(scope, self._to_app.get, self._heard.put))
        answer = await self._ask("lifespan.startup")
        if answer is not None and answer["type"] == "lifespan.startup.failed":
            raise LoadError(f"http.app: its lifespan failed: {_read_last_line(answer.get('message', ''))}")

    async def leave(self) -> None:
        """Ends it. A failure of that stays in the application's log."""
        if self._task is not None and not self._task.done():
            await self._ask("lifespan.shutdown")

    async def _ask(self, kind: str) -> Message | None:
        """Returns the answer of the application; None from one that ends or raises instead."""
        assert self._task is not None
        await self._to_app.put({"type": kind})
        answer = asyncio.ensure_future(self._heard.get())
        await asyncio.wait({answer, self._task}, return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            return answer.result()
        answer.cancel()
        # An application without a lifespan raises here: so the specification has it.
        with contextlib.suppress(BaseException):
            self._task.result()
        return None


def _read_last_line(text: str) -> str:
    """Returns the last line of a traceback, which names the failure."""
    return text.strip().rpartition("\n")[2] or "it gives no reason"
