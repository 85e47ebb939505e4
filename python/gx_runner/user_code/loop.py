"""The user's own code beside graphs, in a thread with a loop of its own: `auth.path`, `encryption.path`, `http.app`."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from gx_runner.graphs.loopback import install_loopback
from gx_runner.graphs.modules import LoadError, import_attribute
from gx_runner.process.logs import serve_logs
from gx_runner.process.loops import run_forever
from gx_runner.user_code.app import App, build_app
from gx_runner.user_code.asgi import AppServer
from gx_runner.user_code.auth import Handlers
from gx_runner.user_code.encryption import Cipher
from gx_runner.user_code.lifespan import Lifespan
from gx_runner.user_code.progress import Progress
from gx_runner.user_code.threads import Threads
from gx_runner.wall.exchange import Exchanges
from gx_runner.wall.failures import ProblemError
from gx_runner.wall.wire import VERSION, Message, Wall

# Functions that handlers themselves call in threads and that wait for something at a time.
_THREADS = 40
_log = logging.getLogger("gx_runner")


class UserCode:
    """The side of the wall that runs the user's own code."""

    def __init__(self, wall: Wall) -> None:
        self._wall = wall
        self._exchanges = Exchanges(wall)
        self._loop = asyncio.new_event_loop()
        self._threads = Threads()
        self._progress = Progress(wall, self._loop, lambda: self._threads.is_exhausted)
        self._handlers: Handlers | None = None
        self._cipher: Cipher | None = None
        self._server = AppServer(self._exchanges, self._progress)
        self._lifespan: Lifespan | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, settings: dict[str, Any]) -> None:
        """Loads the code and serves it, in a thread of its own."""
        threading.Thread(target=self._serve, args=(settings,), name="gx-user-code", daemon=True).start()

    def handle_message(self, message: Message, blobs: bytes) -> None:
        """Hears the server, in the thread that reads the wall."""
        kind = message["kind"]
        if kind == "ping":
            self._progress.answer_ping()
        elif kind == "question":
            self._loop.call_soon_threadsafe(self._begin, message["call_id"], message["question"], blobs)
        elif kind == "stop":
            self._loop.call_soon_threadsafe(self._keep, self._stop())
        elif kind == "exchange" and AppServer.is_about_request(message["message"]):
            self._loop.call_soon_threadsafe(self._server.handle_message, message["message"], blobs)
        elif kind == "exchange":
            # Not by the loop, which the code may hold while it waits for an answer.
            self._exchanges.handle_message(message["message"], blobs)

    def _serve(self, settings: dict[str, Any]) -> None:
        serve_logs(self._wall, settings, source="user-code")
        install_loopback(self._exchanges)
        self._loop.set_default_executor(ThreadPoolExecutor(_THREADS, thread_name_prefix="gx-user-code"))
        try:
            # No loop runs meanwhile, so that a module may run one of its own.
            app = self._load(settings)
            if app is not None:
                self._loop.run_until_complete(self._enter(app))
        except BaseException as error:
            # Nothing else would end a server that waits for this side.
            sentence = str(error) if isinstance(error, LoadError) else f"http.app: {type(error).__name__}: {error}"
            self._wall.send({"kind": "broken", "sentence": sentence})
            return
        handles = [] if self._handlers is None else self._handlers.names
        encrypts = self._cipher is not None and self._cipher.encrypts
        derives = self._cipher is not None and self._cipher.derives
        ready = {"kind": "ready", "version": VERSION, "handles": handles, "encrypts": encrypts, "derives": derives}
        self._wall.send(ready if app is None else {**ready, "app": app.facts})
        if app is not None:
            self._keep(self._describe(app))
        run_forever(self._loop)

    def _load(self, settings: dict[str, Any]) -> App | None:
        """Loads the code, and returns the application if there is one."""
        if (auth := settings.get("auth")) is not None:
            self._handlers = Handlers(_import_export("auth.path", auth), _format_place(auth), self._threads)
        if (module := settings.get("encryption")) is not None:
            self._cipher = Cipher(_import_export("encryption.path", module), _format_place(module), module["seconds"])
        if (app := settings.get("app")) is None:
            return None
        return build_app(_import_export("http.app", app), _format_place(app), self._server, guarded=settings["guarded"])

    async def _enter(self, app: App) -> None:
        self._lifespan = Lifespan(app.call)
        await self._lifespan.enter()
        self._server.serve(app.call, self._lifespan.state)

    async def _describe(self, app: App) -> None:
        """Sends how the application describes itself. It is served without, too."""
        try:
            if (document := await app.read_document()) is not None:
                self._wall.send({"kind": "document", "document": document})
        except Exception as error:
            _log.warning("http.app does not describe itself", exc_info=error)

    async def _stop(self) -> None:
        """Ends the application's lifespan, and then the process."""
        try:
            if self._lifespan is not None:
                await self._lifespan.leave()
        finally:
            os._exit(0)

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _begin(self, call_id: int, question: dict[str, Any], blobs: bytes) -> None:
        self._progress.begin(call_id, self._answer(call_id, question, blobs))

    async def _answer(self, call_id: int, question: dict[str, Any], blobs: bytes) -> None:
        """Answers a question. Never fails."""
        try:
            answer = await self._answer_to(question, blobs)
            if isinstance(answer, bytes):
                self._wall.send({"kind": "answer", "call_id": call_id, "answer": len(answer)}, answer)
            else:
                self._wall.send({"kind": "answer", "call_id": call_id, "answer": answer})
        except ProblemError as error:
            self._refuse(call_id, error)
        except BaseException as error:
            # The text of the failure may hold secrets, so that it stays in the log.
            of = "encryption.path" if question["ask"] in ("cipher", "context") else "auth.path"
            sentence = f"The handler of {of} failed."
            _log.error(sentence, exc_info=error)
            self._refuse(call_id, ProblemError(500, sentence))

    async def _answer_to(self, question: dict[str, Any], blobs: bytes) -> Any:
        if self._handlers is not None and question["ask"] == "authenticate":
            return await self._handlers.authenticate(question)
        if self._handlers is not None and question["ask"] == "authorize":
            return await self._handlers.authorize(question)
        if self._cipher is not None and question["ask"] == "cipher":
            return await self._cipher.answer(question["call"], blobs)
        if self._cipher is not None and question["ask"] == "context":
            return await self._cipher.derive_context(question)
        raise ProblemError(501, f'The user\'s own code in Python does not answer "{question["ask"]}".')

    def _refuse(self, call_id: int, error: ProblemError) -> None:
        refusal = {"status": error.status, "message": str(error), "headers": dict(error.headers)}
        self._wall.send({"kind": "refused", "call_id": call_id, **refusal})


def _import_export(key: str, module: dict[str, str]) -> Any:
    return import_attribute(key, module["file"], module["exportName"])


def _format_place(module: dict[str, str]) -> str:
    return f'"{module["exportName"]}" of {module["file"]}'
