"""The context under which the server encrypts what a run or a call writes, which its messages carry."""

from __future__ import annotations

import contextvars
from typing import Any

from gx_runner.wall.wire import Message

_CONTEXT: contextvars.ContextVar[dict[str, Any] | None] = contextvars.ContextVar("gx_encryption_context", default=None)


def set_encryption_context(context: dict[str, Any] | None) -> None:
    """Sets the context of the work that is under way, and of all that it begins."""
    _CONTEXT.set(context)


def add_encryption_context(message: Message) -> Message:
    """Returns the message with the context of the work, if it has one."""
    context = _CONTEXT.get()
    return message if context is None else {**message, "context": context}
