"""The budgets of a run, as its graph meets them: before a model is called, the server is asked.

A refused call raises LangGraph's own interrupt, which its loops store with the task that has asked.
"""

from __future__ import annotations

import json
import logging
import threading
import warnings
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt

from gx_runner.telemetry.model_calls import ModelCalls
from gx_runner.telemetry.usage import MAX_COUNT, read_name
from gx_runner.wall.wire import Answer, Message, Wall

_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


class BudgetExceeded(Exception):  # noqa: N818 -- the name is that of the run's error
    """A budget is spent, and the run is to fail."""


class Admissions:
    """The admissions of one run. Its handlers go behind all others, in their order."""

    def __init__(self, wall: Wall, run_id: str, calls: ModelCalls | None) -> None:
        self._wall = wall
        self._run_id = run_id
        self._calls = calls
        self._lock = threading.Lock()
        # One refusal is the run's: calls that are asked for later do not begin either.
        self._refusal: dict[str, Any] | None = None
        # LangChain may call the two handlers in either order, and calls one of them for each call at least.
        self._decided: set[UUID] = set()

    def create_handlers(self) -> list[BaseCallbackHandler]:
        """Two handlers: LangChain awaits one of them, or has only the other one heard."""
        return [_Asks(self), _Refuses(self)]

    async def ask(self, run_id: UUID, prompts: Any, about: Mapping[str, Any]) -> None:
        """Asks for a call of a model that is awaited."""
        if self._refusal is None and self._mark_decided(run_id):
            self._note(await self._wall.ask(self._build_question(run_id, prompts, about)))

    def decide(self, run_id: UUID, prompts: Any, about: Mapping[str, Any]) -> None:
        """Raises where the call may not begin. Asks for one that is not awaited."""
        if self._refusal is None and self._mark_decided(run_id):
            self._note(self._wall.ask_now(self._build_question(run_id, prompts, about)))
        if self._refusal is not None:
            if self._calls is not None:
                self._calls.drop(run_id)
            raise _build_stop(self._refusal)

    def _mark_decided(self, run_id: UUID) -> bool:
        """Returns whether nobody else has asked for the call."""
        with self._lock:
            if run_id in self._decided:
                return False
            self._decided.add(run_id)
            return True

    def _note(self, answer: Answer) -> None:
        self._refusal = self._refusal or answer.message.get("refusal")

    def _build_question(self, run_id: UUID, prompts: Any, about: Mapping[str, Any]) -> Message:
        return {"kind": "admit", "run_id": self._run_id, "call": _describe_call(run_id, prompts, about)}


class _Asks(AsyncCallbackHandler):
    """Asks where LangChain awaits its handlers. Elsewhere it hears behind the other one, and asks nothing."""

    run_inline = True
    raise_error = True

    def __init__(self, admissions: Admissions) -> None:
        self._admissions = admissions

    # The arguments of all callbacks are LangChain's own.

    async def on_llm_start(self, serialized: Any, prompts: Any, *, run_id: UUID, **about: Any) -> None:
        """A model begins that writes no messages."""
        await self._admissions.ask(run_id, prompts, about)

    async def on_chat_model_start(self, serialized: Any, messages: Any, *, run_id: UUID, **about: Any) -> None:
        """A model begins that writes messages."""
        await self._admissions.ask(run_id, messages, about)


class _Refuses(BaseCallbackHandler):
    """Raises for a call that may not begin. It is the last handler, so that LangChain begins nothing behind it."""

    run_inline = True
    raise_error = True

    def __init__(self, admissions: Admissions) -> None:
        self._admissions = admissions

    def on_llm_start(self, serialized: Any, prompts: Any, *, run_id: UUID, **about: Any) -> None:
        """A model begins that writes no messages."""
        self._admissions.decide(run_id, prompts, about)

    def on_chat_model_start(self, serialized: Any, messages: Any, *, run_id: UUID, **about: Any) -> None:
        """A model begins that writes messages."""
        self._admissions.decide(run_id, messages, about)


class _NoRefusals(logging.Filter):
    """LangChain warns of whatever a handler raises, which is no fault here."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.args and record.args[0] == _Refuses.__name__)  # type: ignore[index]


logging.getLogger("langchain_core.callbacks.manager").addFilter(_NoRefusals())
# Behind a refusal LangChain leaves the handlers alone that it had yet to call, and Python warns of that.
warnings.filterwarnings("ignore", "coroutine 'ahandle_event' was never awaited", RuntimeWarning)


def _build_stop(refusal: Mapping[str, Any]) -> Exception:
    question = refusal.get("question")
    if question is None:
        return BudgetExceeded(refusal["error"]["message"])
    return GraphInterrupt((Interrupt(value=question["value"], id=question["id"]),))


def _describe_call(run_id: UUID, prompts: Any, about: Mapping[str, Any]) -> dict[str, Any]:
    metadata: Mapping[str, Any] = about.get("metadata") or {}
    params: Mapping[str, Any] = about.get("invocation_params") or {}
    limits = [metadata.get("ls_max_tokens"), *(params.get(name) for name in _LIMITS)]
    most = next((limit for limit in limits if isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0), None)
    named = {
        "provider": read_name(metadata.get("ls_provider")),
        "model": read_name(metadata.get("ls_model_name")),
        "most_output": None if most is None else min(most, MAX_COUNT),
    }
    described = {"id": str(run_id), "characters": min(_count_characters(prompts), MAX_COUNT)}
    return {**described, **{field: value for field, value in named.items() if value is not None}}


def _count_characters(value: Any) -> int:
    """Counts the characters of prompts: texts, or messages with contents and calls of tools."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, (list, tuple)):
        return sum(_count_characters(one) for one in value)
    if isinstance(value, Mapping):
        return _count_characters(value.get("text"))
    called = getattr(value, "tool_calls", None)
    of_calls = len(json.dumps(called, default=str)) if called else 0
    return _count_characters(getattr(value, "content", None)) + of_calls
