"""Events that code of a graph dispatches by LangChain's callbacks, as those of LangGraph's mode "custom".

It is that of JavaScript's graphs (src/agent/graph-thread/event-streaming/dispatched-events.ts).
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langgraph.config import get_stream_writer

from gx_runner.telemetry.model_calls import USAGE_EVENT


class DispatchedEvents(BaseCallbackHandler):
    """Writes the events into the stream of the node that dispatches them, where they keep their order."""

    run_inline = True

    # Of all other events LangChain need not prepare any for this handler: it makes one text of a model's messages.
    ignore_llm = ignore_chat_model = ignore_chain = ignore_agent = ignore_retriever = ignore_retry = True

    def on_custom_event(self, name: str, data: Any, **_: Any) -> None:
        """An event was dispatched. Outside of a node nobody listens; the usage of models is for the server alone."""
        if name == USAGE_EVENT:
            return
        with suppress(RuntimeError):
            get_stream_writer()({"name": name, "payload": data})
