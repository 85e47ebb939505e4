"""Spans of a graph's parts, below the run's own: its nodes, and the models, tools and retrievers that they call.

They are those of JavaScript's graphs (src/agent/graph-thread/spans.ts). LangChain's callbacks report them, beside any
other tracing of the graph's own.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.outputs import ChatGeneration, LLMResult
from langgraph.errors import GraphBubbleUp

from gx_runner.telemetry.usage import read_answer_usage
from gx_runner.wall.encode import to_json

# The most spans of one run; a loop of thousands of steps is not worth a collector's memory.
_MOST = 1000
# The most spans that cross to the server in one message.
_MESSAGE = 100
# Characters of an input or an output in a span (MOST_CONTENT in span.ts).
_MOST_CONTENT = 8192
# The tag of a node's own call; what happens inside it carries the node's name, too.
_OF_NODE = "graph:step:"

Span = dict[str, Any]
Attributes = dict[str, Any]


@dataclass(frozen=True)
class _Call:
    """A call under way: the span that it is, or the one that it happens in."""

    span_id: str
    span: Span | None = None


class Spans:
    """The spans of one run. Nodes that are plain functions report from threads of their own."""

    def __init__(self, trace: dict[str, str], send: Callable[[list[Span]], None], *, contents: bool) -> None:
        self._trace_id, self._root = trace["trace_id"], trace["span_id"]
        self._send = send
        self._contents = contents
        self._lock = threading.Lock()
        self._calls: dict[UUID, _Call] = {}
        self._done: list[Span] = []
        self._made = 0

    def begin(self, run_id: UUID, parent: UUID | None, shown: tuple[str, Attributes] | None, given: Any) -> None:
        """Begins a call. One that is not shown belongs to the span around it."""
        with self._lock:
            around = self._calls.get(parent) if parent is not None else None
            parent_id = self._root if around is None else around.span_id
            if shown is None or self._made >= _MOST:
                self._calls[run_id] = _Call(parent_id)
                return
            self._made += 1
            span_id = secrets.token_hex(8)
            name, attributes = shown
            ids = {"traceId": self._trace_id, "spanId": span_id, "parentSpanId": parent_id}
            about = {"start": _get_now(), "name": name, "attributes": {**attributes, **self._build_content("input", given)}}
            self._calls[run_id] = _Call(span_id, {**ids, **about})

    def end(
        self, run_id: UUID, output: Any = None, more: Attributes | None = None, error: BaseException | None = None
    ) -> None:
        """Ends a call. A graph that stops to wait for a person raises, and has not failed."""
        with self._lock:
            call = self._calls.pop(run_id, None)
            if call is None or call.span is None:
                return
            attributes = {**call.span["attributes"], **(more or {}), **self._build_content("output", output)}
            failure: Span = {}
            if error is not None and not isinstance(error, GraphBubbleUp):
                attributes["error.type"] = type(error).__name__
                failure = {"error": _format_error(error)}
            self._done.append({**call.span, "end": _get_now(), "attributes": attributes, **failure})
            if len(self._done) >= _MESSAGE:
                self._flush()

    def find_span(self, run_id: UUID) -> str | None:
        """Returns the span that a call under way is, or happens in."""
        with self._lock:
            call = self._calls.get(run_id)
        return None if call is None else call.span_id

    def close(self) -> None:
        """Ends the calls that the run's end has cut off, and sends all that is left."""
        for run_id in list(self._calls):
            self.end(run_id)
        with self._lock:
            self._flush()

    def _flush(self) -> None:
        done, self._done = self._done, []
        if done:
            self._send(done)

    def _build_content(self, of: str, value: Any) -> Attributes:
        """Returns nothing of a call that gave nothing, or something without a JSON, which is the graph's own affair."""
        if not self._contents or value is None:
            return {}
        try:
            text = to_json(value).decode()
        except Exception:
            return {}
        whole = len(text) <= _MOST_CONTENT
        shown = text if whole else f"{text[:_MOST_CONTENT]}..."
        return {f"{of}.value": shown, f"{of}.mime_type": "application/json" if whole else "text/plain"}


def _get_now() -> float:
    return time.time() * 1000


def _format_error(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "The error can not be printed."


class SpanHandler(BaseCallbackHandler):
    """Hears of a graph's calls. It takes no time, so it is called where they happen."""

    run_inline = True

    def __init__(self, spans: Spans) -> None:
        self._spans = spans

    # The arguments of all callbacks are LangChain's own.

    def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **of: Any
    ) -> None:
        """A node begins, or a part of one."""
        self._spans.begin(run_id, parent_run_id, _read_node(of), inputs)

    def on_tool_start(
        self, serialized: Any, input_str: str, *, run_id: UUID, parent_run_id: UUID | None = None, **of: Any
    ) -> None:
        """A tool begins."""
        name = _find_name(serialized, of)
        self._spans.begin(run_id, parent_run_id, (f"tool {name}", {"gen_ai.tool.name": name}), input_str)

    def on_retriever_start(
        self, serialized: Any, query: str, *, run_id: UUID, parent_run_id: UUID | None = None, **of: Any
    ) -> None:
        """A retriever begins."""
        self._spans.begin(run_id, parent_run_id, (f"retriever {_find_name(serialized, of)}", {}), query)

    def on_llm_start(
        self, serialized: Any, prompts: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **of: Any
    ) -> None:
        """A model begins that writes no messages."""
        self._spans.begin(run_id, parent_run_id, _read_model(serialized, of), prompts)

    def on_chat_model_start(
        self, serialized: Any, messages: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **of: Any
    ) -> None:
        """A model begins that writes messages."""
        self._spans.begin(run_id, parent_run_id, _read_model(serialized, of), messages)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        """A model has answered."""
        self._spans.end(run_id, _read_answer(response), _read_usage(response))

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:
        """A node has ended, or a part of one."""
        self._spans.end(run_id, outputs)

    def on_tool_end(self, output: Any, *, run_id: UUID, **_: Any) -> None:
        """A tool has ended."""
        self._spans.end(run_id, output)

    def on_retriever_end(self, documents: Any, *, run_id: UUID, **_: Any) -> None:
        """A retriever has ended."""
        self._spans.end(run_id, documents)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """A model has failed."""
        self._spans.end(run_id, error=error)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """A node has failed, or a part of one."""
        self._spans.end(run_id, error=error)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """A tool has failed."""
        self._spans.end(run_id, error=error)

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """A retriever has failed."""
        self._spans.end(run_id, error=error)


def _find_name(serialized: Any, of: dict[str, Any]) -> str:
    """Returns the name that the call was given, or else the name of its class."""
    if of.get("name"):
        return str(of["name"])
    about = serialized or {}
    return str(about.get("name") or (about.get("id") or [""])[-1])


def _read_node(of: dict[str, Any]) -> tuple[str, Attributes] | None:
    metadata, tags, name = of.get("metadata") or {}, of.get("tags") or [], of.get("name")
    is_node = any(tag.startswith(_OF_NODE) for tag in tags) and "langsmith:hidden" not in tags
    if not is_node or metadata.get("langgraph_node") != name:
        return None
    step = metadata.get("langgraph_step")
    return f"node {name}", {"gx.node": name, **({"gx.step": step} if isinstance(step, int) else {})}


def _read_model(serialized: Any, of: dict[str, Any]) -> tuple[str, Attributes]:
    metadata = of.get("metadata") or {}
    named = {"gen_ai.request.model": metadata.get("ls_model_name"), "gen_ai.provider.name": metadata.get("ls_provider")}
    return f"model {_find_name(serialized, of)}", {name: value for name, value in named.items() if isinstance(value, str)}


def _read_answer(response: LLMResult) -> Any:
    """Returns a model's answer: a message, or the text of a model that writes no messages."""
    first = next((one for part in response.generations[:1] for one in part), None)
    return first.message if isinstance(first, ChatGeneration) else getattr(first, "text", None)


def _read_usage(response: LLMResult) -> Attributes:
    """Returns what a model's answer tells, by OpenTelemetry's names (semantic-conventions-genai)."""
    usage = read_answer_usage(response)
    tokens = usage.get("tokens", {})
    told = {
        "gen_ai.response.model": usage.get("model"),
        "gen_ai.usage.input_tokens": tokens.get("input"),
        "gen_ai.usage.output_tokens": tokens.get("output"),
        "gen_ai.usage.cache_read.input_tokens": tokens.get("cache_read"),
        "gen_ai.usage.cache_write.input_tokens": tokens.get("cache_write", 0) + tokens.get("cache_write_1h", 0) or None,
        "gen_ai.usage.reasoning.output_tokens": tokens.get("reasoning"),
        "gx.cost_usd": usage.get("cost_usd"),
    }
    return {name: value for name, value in told.items() if value is not None}
