"""Events of a run, made from the chunks that LangGraph streams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage, BaseMessageChunk, message_chunk_to_message
from langgraph.types import Interrupt

from gx_runner.checkpoints.texts import LastLists, encode_state
from gx_runner.checkpoints.unshown import remove_unshown
from gx_runner.graphs.snapshot import build_question, find_checkpoint
from gx_runner.wall.encode import to_json

Event = tuple[str, Any]

_INTERRUPT = "__interrupt__"
# Modes whose events tell of a step after its state.
_AFTER_STATE = ("checkpoints", "debug", "events")


class Chunk(NamedTuple):
    """A chunk as LangGraph streams it."""

    namespace: tuple[str, ...]
    mode: str
    payload: Any


def choose_graph_modes(wanted: list[str]) -> list[str]:
    """Returns the modes to ask LangGraph for.

    `values` is always among them, because the last one is the result of the run, and `updates`, because a stop before or
    behind a node shows only there.
    """
    asked = ["messages" if mode == "messages-tuple" else mode for mode in wanted if mode != "events"]
    return list(dict.fromkeys([*asked, "values", "updates"]))


class EventsOfRun:
    """Turns the chunks of one run into its events. It remembers the last state, and messages that are not over yet."""

    def __init__(self, wanted: list[str], unshown: Sequence[str] = ()) -> None:
        """No event has settings of the names in `unshown`."""
        self._wanted = wanted
        self._unshown = unshown
        # Returns the lists of the last step, whose JSON is made already.
        self.last_lists: Callable[[], LastLists | None] = lambda: None
        # Messages that are being streamed, by id, each with the name of the event that ends it.
        self._messages: dict[str, tuple[BaseMessageChunk, str]] = {}
        self._ends: list[Event] = []
        self._written: tuple[Any, bytes] | None = None
        self.values: Any = None
        # True once any part of the graph has stopped to wait.
        self.stopped = False

    def encode_event(self, data: Any, *, over: bool = False) -> bytes:
        """Returns the JSON of an event. The last state is serialised once, because mostly it is the last event, too.

        `over`: the graph has ended.
        """
        if data is not self.values or data is None:
            return to_json(data)
        if self._written is None or self._written[0] is not data:
            self._written = (data, encode_state(data, self.last_lists(), over=over))
        return self._written[1]

    def convert(self, chunk: Chunk) -> list[Event]:
        """Returns the events that a chunk makes."""
        if "messages" not in self._wanted:
            return self._build_events(chunk)
        events = self._build_events(chunk)
        if not _is_of_old_step(chunk):
            events = [*self.end(), *events]
        if chunk.mode == "values" and not chunk.namespace:
            self._end_messages()
        return events if any(mode in self._wanted for mode in _AFTER_STATE) else [*events, *self.end()]

    def end(self) -> list[Event]:
        """Returns the events that are still to be sent when the graph has ended."""
        ends, self._ends = self._ends, []
        return ends

    def strip_event(self, event: Any) -> Any:
        """Returns an event of LangChain's callbacks, whose metadata has the settings of the run."""
        if not self._unshown:
            return event
        return {**event, "metadata": remove_unshown(event.get("metadata") or {}, self._unshown)}

    def _build_events(self, chunk: Chunk) -> list[Event]:
        def build_name(event: str) -> str:
            return "|".join((event, *chunk.namespace))

        if chunk.mode == "values":
            return self._convert_values(chunk, build_name)
        if chunk.mode == "messages":
            return self._convert_message(chunk.payload, build_name)
        if chunk.mode == "updates" and isinstance(chunk.payload, dict) and _INTERRUPT in chunk.payload:
            self.stopped = True
        if chunk.mode not in self._wanted:
            return []
        if chunk.mode == "updates":
            return [(build_name(chunk.mode), _build_questions(chunk.payload))]
        form = _FORMS.get(chunk.mode)
        return [(build_name(chunk.mode), form(chunk.payload, self._unshown) if form else chunk.payload)]

    def _convert_values(self, chunk: Chunk, name: Callable[[str], str]) -> list[Event]:
        payload, is_root = _build_questions(chunk.payload), not chunk.namespace
        asks = isinstance(payload, dict) and _INTERRUPT in payload
        if asks:
            self.stopped = True
            if is_root and len(payload) > 1:
                self.values = {field: value for field, value in payload.items() if field != _INTERRUPT}
        elif is_root:
            self.values = payload
        if "values" not in self._wanted or (asks and not payload[_INTERRUPT]):
            return []
        if asks and is_root and isinstance(self.values, dict):
            return [(name("values"), {**self.values, _INTERRUPT: payload[_INTERRUPT]})]
        return [(name("values"), payload)]

    def _convert_message(self, payload: Any, name: Callable[[str], str]) -> list[Event]:
        message, metadata = payload
        if not isinstance(message, BaseMessage):
            return []
        metadata = remove_unshown(metadata, self._unshown) if self._unshown else metadata
        events: list[Event] = []
        if "messages-tuple" in self._wanted:
            events.append((name("messages"), [message, metadata]))
        if "messages" in self._wanted:
            events.extend(self._convert_whole_message(message, metadata, name))
        return events

    def _convert_whole_message(self, message: BaseMessage, metadata: Any, name: Callable[[str], str]) -> list[Event]:
        end = name("messages/complete")
        if not isinstance(message, BaseMessageChunk):
            return [(end, [message])]
        message_id = str(message.id)
        before = self._messages.get(message_id)
        whole: Any = message if before is None else before[0] + message
        self._messages[message_id] = (whole, end)
        first: list[Event] = [] if before else [(name("messages/metadata"), {message_id: {"metadata": metadata}})]
        return [*first, (name("messages/partial"), [message_chunk_to_message(whole)])]

    def _end_messages(self) -> None:
        """Ends all messages of the step whose state is now known, because its tasks are over."""
        self._ends.extend((end, [message_chunk_to_message(whole)]) for whole, end in self._messages.values())
        self._messages.clear()


def _build_questions(payload: Any) -> Any:
    """Returns a payload whose questions have the form that they have in states, too."""
    if not isinstance(payload, dict) or not (asked := payload.get(_INTERRUPT)):
        return payload
    return {**payload, _INTERRUPT: [build_question(one) if isinstance(one, Interrupt) else one for one in asked]}


def _is_of_old_step(chunk: Chunk) -> bool:
    """Returns true for a chunk at the end of a step, false for one that may come in the next step."""
    is_checkpoint = chunk.mode == "debug" and chunk.payload.get("type") == "checkpoint"
    return chunk.mode in ("values", "checkpoints") or is_checkpoint


def _strip_config(config: Any, unshown: Sequence[str]) -> dict[str, Any] | None:
    """Returns a configuration without the objects that LangGraph puts there, and without settings of these names."""
    if config is None:
        return None
    given = remove_unshown(config.get("configurable", {}), unshown)
    configurable = {name: value for name, value in given.items() if not name.startswith("__")}
    return {**_strip_metadata(config, unshown), "configurable": configurable}


def _strip_metadata(fields: dict[str, Any], unshown: Sequence[str]) -> dict[str, Any]:
    metadata = fields.get("metadata")
    return {**fields, "metadata": remove_unshown(metadata, unshown)} if unshown and metadata else fields


def _strip_checkpoint(payload: Any, unshown: Sequence[str]) -> dict[str, Any]:
    configs = {name: _strip_config(payload.get(name), unshown) for name in ("config", "parent_config")}
    return {**_strip_metadata(payload, unshown), **configs}


def _strip_debug(event: Any, unshown: Sequence[str]) -> Any:
    """Returns the payload of the mode `debug`, where a checkpoint also names itself and its parent."""
    if event.get("type") != "checkpoint":
        return event
    payload = event["payload"]
    parent = find_checkpoint(payload.get("parent_config"))
    places = {"checkpoint": find_checkpoint(payload.get("config")), "parent_checkpoint": parent}
    return {**event, "payload": {**_strip_checkpoint(payload, unshown), **places}}


_FORMS: dict[str, Callable[[Any, Sequence[str]], Any]] = {"checkpoints": _strip_checkpoint, "debug": _strip_debug}
