"""The calls of a run's models, as LangChain's callbacks report them.

They are those of JavaScript's graphs (src/agent/graph-thread/model-calls.ts).
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID, uuid4

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.outputs import LLMResult

from gx_runner.telemetry.usage import MAX_COUNT, read_answer_usage, read_cost, read_name, read_tokens

# The custom event of LangChain by which a graph reports the usage of a call that LangChain knows nothing of.
USAGE_EVENT = "gx.usage"

ModelCall = dict[str, Any]


class ModelCalls(BaseCallbackHandler):
    """Hears of the models of a run. It takes no time, so it is called where they happen."""

    run_inline = True
    ignore_chain = True
    ignore_agent = True
    ignore_retriever = True
    ignore_retry = True

    def __init__(self, send: Callable[[ModelCall], None]) -> None:
        self._send = send
        # Nodes that are plain functions report from threads of their own.
        self._lock = threading.Lock()
        self._under_way: dict[UUID, ModelCall] = {}

    # The arguments of all callbacks are LangChain's own.

    def on_llm_start(self, serialized: Any, prompts: Any, *, run_id: UUID, metadata: Any = None, **_: Any) -> None:
        """A model begins that writes no messages."""
        self._start(run_id, metadata)

    def on_chat_model_start(self, serialized: Any, messages: Any, *, run_id: UUID, metadata: Any = None, **_: Any) -> None:
        """A model begins that writes messages."""
        self._start(run_id, metadata)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        """A model has answered."""
        self._end(run_id, {"status": "ok", **read_answer_usage(response)})

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """A model has failed, or its run was stopped."""
        self._end(run_id, {"status": "cut" if isinstance(error, asyncio.CancelledError) else "error"})

    def on_custom_event(self, name: str, data: Any, *, run_id: UUID, metadata: Any = None, **_: Any) -> None:
        """A graph reports a call itself."""
        if name == USAGE_EVENT and isinstance(data, Mapping):
            self._send(_build_reported_call(data, metadata))

    def drop(self, run_id: UUID) -> None:
        """Forgets a call that did not begin."""
        with self._lock:
            self._under_way.pop(run_id, None)

    def close(self) -> None:
        """Sends the calls that the run's end has cut off."""
        for run_id in list(self._under_way):
            self._end(run_id, {"status": "cut"})

    def _start(self, run_id: UUID, metadata: Any) -> None:
        with self._lock:
            self._under_way[run_id] = {"id": str(run_id), "start": time.time() * 1000, **_read_place(metadata)}

    def _end(self, run_id: UUID, ended: ModelCall) -> None:
        with self._lock:
            call = self._under_way.pop(run_id, None)
        if call is None:
            return
        asked = call.pop("asked", None)
        milliseconds = min(max(0, round(time.time() * 1000 - call["start"])), MAX_COUNT)
        told = {**call, "milliseconds": milliseconds, **ended}
        if asked is not None and told.setdefault("model", asked) != asked:
            told["asked"] = asked
        self._send(told)


def _read_place(metadata: Any) -> ModelCall:
    """Returns where a call happens, and what it asks for, by the metadata that LangGraph and the model's class give it."""
    fields = metadata if isinstance(metadata, Mapping) else {}
    # The last part of the namespace is the node's own task.
    ns = "|".join(str(fields.get("langgraph_checkpoint_ns") or "").split("|")[:-1])
    named = {
        "node": fields.get("langgraph_node"),
        "ns": ns,
        "provider": fields.get("ls_provider"),
        "asked": fields.get("ls_model_name"),
    }
    return {field: name for field, value in named.items() if (name := read_name(value)) is not None}


def _build_reported_call(data: Mapping[str, Any], metadata: Any) -> ModelCall:
    """Returns the call that a graph reports, by the names of `usage_metadata`, with `model`, `provider` and `cost_usd`."""
    place = {field: value for field, value in _read_place(metadata).items() if field in ("node", "ns")}
    call = {"id": str(uuid4()), "start": time.time() * 1000, "milliseconds": 0, "status": "ok", **place}
    told = {"model": read_name(data.get("model")), "provider": read_name(data.get("provider"))}
    measured = {"tokens": read_tokens(data, {}), "cost_usd": read_cost(data.get("cost_usd"))}
    return {**call, **{field: value for field, value in {**told, **measured}.items() if value is not None}}
