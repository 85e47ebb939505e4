"""Events of protocol v2, made from those that LangGraph streams in its version "v3"."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from langchain_core.messages import AIMessage, BaseMessage, BaseMessageChunk, ToolMessage, message_chunk_to_message

from gx_runner.running.state_form import Json, encode_protocol_data, to_content_blocks
from gx_runner.wall.encode import to_json

# The channel of the tasks, which LangGraph leaves out of the events of a run.
TASKS = "gx.tasks"
INTERRUPT = "__interrupt__"
_CUSTOM = "custom:"
# Keys in the metadata of a model by which a graph tells how pages show its message.
_PAGE_METADATA = (
    "predict_state",
    "emit-messages",
    "emit-tool-calls",
    "copilotkit:emit-messages",
    "copilotkit:emit-tool-calls",
    "copilotkit:emit-intermediate-state",
)
# The characters that encodeURIComponent leaves, beside letters, digits and those that `quote` always leaves.
_LEFT = "!*'()"

Namespace = list[str]


@dataclass(frozen=True)
class ProtocolEvent:
    """`node` is the node that the event comes from. `whole`: messages in the data keep all their fields."""

    method: str
    namespace: Namespace
    data: Any
    name: str | None = None
    node: str | None = None
    whole: bool = False


class ProtocolStream:
    """The protocol events of one run. The end of the run as a whole is sent by the process that stores it."""

    def __init__(self, graph_id: str, emit: Callable[[list[tuple[str, bytes]]], None]) -> None:
        self._events = ProtocolEvents()
        self._graph_id = graph_id
        self._emit = emit

    def begin(self) -> None:
        """Reports that the run begins."""
        self._send([ProtocolEvent("lifecycle", [], {"event": "running", "graph_name": self._graph_id})])

    def take(self, event: Any) -> None:
        """Sends an event of LangGraph."""
        self._send(self._events.convert_event(event))

    def end(self, status: str) -> None:
        """Reports the end of the subgraphs that the run leaves open."""
        self._send(self._events.end(status))

    def _send(self, events: list[ProtocolEvent]) -> None:
        now = time.time_ns() // 1_000_000
        self._emit([(_build_event_name(event), _encode_event(event, now)) for event in events])


def _build_event_name(event: ProtocolEvent) -> str:
    """Returns the name by which readers filter (event-name.ts)."""
    head = event.method if event.name is None else f"{event.method}:{quote(event.name, safe=_LEFT, errors='replace')}"
    return "|".join((f"v2:{head}", *event.namespace))


def _encode_event(event: ProtocolEvent, timestamp: int) -> bytes:
    node = {} if event.node is None else {"node": event.node}
    params = {"namespace": event.namespace, "timestamp": timestamp, **node, "data": event.data}
    return to_json(params) if event.whole else encode_protocol_data(params)


class ProtocolEvents:
    """Converts the events of one run. It remembers which graphs are under way, and which questions it has sent."""

    def __init__(self) -> None:
        # The names of the graphs under way, by namespace.
        self._open: dict[tuple[str, ...], str] = {}
        self._asked: set[str] = set()
        # A state whose checkpoint comes next.
        self._held: ProtocolEvent | None = None
        # Namespaces of graphs that have checkpoints; that of the run always has some.
        self._stored: set[tuple[str, ...]] = {()}

    def convert_event(self, event: Any) -> list[ProtocolEvent]:
        """Returns the events that an event of LangGraph makes."""
        method, params = event["method"], event["params"]
        namespace, data = list(params["namespace"]), params["data"]
        if method == "checkpoints":
            return self._convert_checkpoint(namespace, data)
        held = self._release_held()
        if method == "values":
            return [*held, *self._convert_values(namespace, data, params.get("interrupts", ()))]
        return [*held, *self._convert(method, namespace, data)]

    def end(self, status: str) -> list[ProtocolEvent]:
        """Returns the events of the graphs that the end of the run leaves open."""
        return [*self._release_held(), *self._close([], status)]

    def _convert(self, method: str, namespace: Namespace, data: Any) -> list[ProtocolEvent]:
        match method:
            case "messages":
                return _convert_message(namespace, *data)
            case "updates":
                asks = isinstance(data, dict) and INTERRUPT in data
                left = {name: one for name, one in data.items() if name != INTERRUPT} if asks else data
                return [
                    ProtocolEvent(method, namespace, left),
                    *self._build_input_requests(namespace, data[INTERRUPT] if asks else ()),
                ]
            case "tools":
                return _convert_tool(namespace, data)
            case "lifecycle":
                return self._open_graph(data)
            case "custom":
                return [_convert_custom(namespace, data)]
            case _ if method == _CUSTOM + TASKS:
                return self._convert_task(*data)
            case _ if method.startswith(_CUSTOM):
                # A transformer of the graph has pushed into a channel of its own.
                name = method.removeprefix(_CUSTOM)
                return [ProtocolEvent("custom", namespace, {"name": name, "payload": data}, name=name)]
            case _:
                return []

    def _convert_values(self, namespace: Namespace, data: Any, interrupts: Any) -> list[ProtocolEvent]:
        event = ProtocolEvent("values", namespace, data)
        if interrupts:
            # A state that says only that the graph waits is not sent.
            return [*([] if data == {} else [event]), *self._build_input_requests(namespace, interrupts)]
        if tuple(namespace) not in self._stored:
            return [event]
        self._held = event
        return []

    def _convert_checkpoint(self, namespace: Namespace, data: Any) -> list[ProtocolEvent]:
        """Returns a checkpoint before its state, where clients look for it. That of a mere input has no state."""
        self._stored.add(tuple(namespace))
        held = self._release_held()
        if not held or held[0].namespace != namespace:
            return held
        return [ProtocolEvent("checkpoints", namespace, _build_envelope(data)), *held]

    def _release_held(self) -> list[ProtocolEvent]:
        held, self._held = self._held, None
        return [] if held is None else [held]

    def _build_input_requests(self, namespace: Namespace, interrupts: Any) -> list[ProtocolEvent]:
        fresh = [one for one in interrupts if one.id not in self._asked]
        self._asked.update(one.id for one in fresh)
        return [ProtocolEvent("input.requested", namespace, {"interrupt_id": one.id, "payload": one.value}) for one in fresh]

    def _open_graph(self, data: Json) -> list[ProtocolEvent]:
        """Returns the beginning of a graph. LangGraph also reports ends, but none for graphs that were stopped."""
        if data["event"] != "started":
            return []
        namespace = list(data["namespace"])
        self._open[tuple(namespace)] = data.get("graph_name") or namespace[-1].partition(":")[0]
        return [ProtocolEvent("lifecycle", namespace, data)]

    def _convert_task(self, namespace: Namespace, task: Json) -> list[ProtocolEvent]:
        event = ProtocolEvent("tasks", namespace, task)
        if "result" not in task and "error" not in task:
            return [event]
        status = "interrupted" if task.get("interrupts") else "failed" if task.get("error") else "completed"
        return [event, *self._close([*namespace, f"{task['name']}:{task['id']}"], status)]

    def _close(self, outer: Namespace, status: str) -> list[ProtocolEvent]:
        """Closes the graphs within a namespace, the innermost first."""
        ended = [place for place in reversed(self._open) if list(place[: len(outer)]) == outer]
        return [
            ProtocolEvent("lifecycle", list(place), {"event": status, "graph_name": self._open.pop(place)})
            for place in ended
        ]


def _convert_custom(namespace: Namespace, payload: Any) -> ProtocolEvent:
    """Returns a custom event. A payload with a name is that of its own channel, `custom:<name>`."""
    name = payload.get("name") if isinstance(payload, dict) else None
    if isinstance(name, str):
        return ProtocolEvent("custom", namespace, payload, name=name)
    return ProtocolEvent("custom", namespace, {"payload": payload})


def _build_envelope(checkpoint: Json) -> Json:
    """Returns a checkpoint's place in the history; its state is in the `values` behind it."""
    parent = _get_checkpoint_id(checkpoint.get("parent_config"))
    metadata = checkpoint.get("metadata") or {}
    return {
        "id": _get_checkpoint_id(checkpoint.get("config")),
        **({} if parent is None else {"parent_id": parent}),
        "step": metadata.get("step"),
        "source": metadata.get("source"),
    }


def _get_checkpoint_id(config: Json | None) -> Any:
    return ((config or {}).get("configurable") or {}).get("checkpoint_id")


def _convert_message(namespace: Namespace, payload: Any, metadata: Json) -> list[ProtocolEvent]:
    node = metadata.get("langgraph_node")
    if not isinstance(payload, BaseMessage):
        # Models of one graph stream at the same time, and clients tell their messages apart by the model's run.
        part = {**payload, "run_id": metadata.get("run_id")}
        if payload["event"] == "message-start" and (page := _pick_page_metadata(metadata)):
            part["metadata"] = {**(payload.get("metadata") or {}), **page}
        return [ProtocolEvent("messages", namespace, part, node=node)]
    # A model that its node streams comes as a whole. Messages that nodes return come so, too: they are in the state.
    if "ls_model_type" not in metadata:
        return []
    message = message_chunk_to_message(payload) if isinstance(payload, BaseMessageChunk) else payload
    usage = message.usage_metadata if isinstance(message, AIMessage) else None
    parts = _split_message(
        [dict(block) for block in message.content_blocks],
        {"role": "ai", "id": message.id, **({"metadata": page} if (page := _pick_page_metadata(metadata)) else {})},
        {} if usage is None else {"usage": usage},
    )
    return [ProtocolEvent("messages", namespace, {**part, "run_id": message.id}, node=node) for part in parts]


def _pick_page_metadata(metadata: Json) -> Json:
    return {name: metadata[name] for name in _PAGE_METADATA if name in metadata}


def _convert_tool(namespace: Namespace, payload: Json) -> list[ProtocolEvent]:
    kind, call_id = payload["event"], payload.get("tool_call_id") or ""
    if kind == "tool-output-delta" and not isinstance(payload.get("delta"), str):
        payload = {**payload, "delta": to_json(payload.get("delta")).decode()}
    events = [ProtocolEvent("tools", namespace, payload, whole=True)]
    answer = _find_tool_message(payload.get("output"), call_id) if kind == "tool-finished" else None
    if answer is None:
        return events
    # Pages show the answer of a tool under the namespace of its call.
    head = {"role": "tool", "id": answer.id or f"tool-{call_id}", "tool_call_id": call_id}
    parts = _split_message(to_content_blocks(answer.content), head, {"metadata": {}})
    return [*events, *(ProtocolEvent("messages", [*namespace, f"tools:{call_id}"], part) for part in parts)]


def _find_tool_message(output: Any, call_id: str) -> ToolMessage | None:
    """Returns the tool's message: the output itself, or the message within the update of a command."""
    if isinstance(output, ToolMessage):
        return output
    update = getattr(output, "update", None)
    messages = update.get("messages") if isinstance(update, dict) else None
    found = messages if isinstance(messages, list) else []
    return next((one for one in found if isinstance(one, ToolMessage) and one.tool_call_id == call_id), None)


def _split_message(blocks: list[Json], head: Json, finish: Json) -> list[Json]:
    """Returns the events of a whole message, which are those of a streamed one: block by block."""
    parts: list[Json] = [{"event": "message-start", **head}]
    for index, block in enumerate(blocks):
        begin, delta = _split_block(block)
        parts.append({"event": "content-block-start", "index": index, "content": begin})
        if delta is not None:
            parts.append({"event": "content-block-delta", "index": index, "delta": delta})
        parts.append({"event": "content-block-finish", "index": index, "content": block})
    return [*parts, {"event": "message-finish", **finish}]


def _split_block(block: Json) -> tuple[Json, Json | None]:
    """Returns a block as it begins, and the part that is appended to it."""
    kind = block.get("type")
    if kind in ("text", "reasoning"):
        return {"type": kind, kind: ""}, {"type": f"{kind}-delta", kind: block.get(kind, "")}
    return block, None
