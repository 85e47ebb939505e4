"""The form of messages in event streaming: the fields that a page needs, content in blocks, and calls of tools."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessageChunk, message_chunk_to_message
from pydantic import BaseModel

from gx_runner.wall.encode import to_json, to_json_form

Json = dict[str, Any]

_TYPES = {"human", "ai", "system", "tool", "function", "remove"}
# Fields that are sent whenever they have a value.
_ALWAYS = ("id", "name", "response_metadata")
_MORE = {
    "ai": ("usage_metadata", "additional_kwargs", "example"),
    "human": ("additional_kwargs", "example"),
    "tool": ("tool_call_id", "status"),
}
# Types of blocks that are sent as they are.
_BLOCKS = {
    "text",
    "reasoning",
    "tool_call",
    "tool_call_chunk",
    "invalid_tool_call",
    "server_tool_call",
    "server_tool_call_chunk",
    "server_tool_call_result",
    "server_tool_result",
    "image",
    "audio",
    "video",
    "file",
    "non_standard",
}


def encode_protocol_data(value: object) -> bytes:
    """Returns the JSON of a value with its messages in this form, wherever they are."""
    return to_json(value, _convert_value)


def to_block(part: Any) -> Json:
    """Returns one part of a message's content as a standard block; a part without a standard form is wrapped."""
    if isinstance(part, str):
        return {"type": "text", "text": part}
    kind = part.get("type") if isinstance(part, dict) else None
    if kind in _BLOCKS:
        return dict(part)
    if kind == "image_url":
        image = part.get("image_url")
        return {"type": "image", "url": image.get("url") if isinstance(image, dict) else image}
    if kind == "input_audio" and isinstance(audio := part.get("input_audio"), dict):
        mime = {"mime_type": f"audio/{audio['format']}"} if isinstance(audio.get("format"), str) else {}
        return {"type": "audio", "base64": audio.get("data"), **mime}
    return {"type": "non_standard", "value": part}


def to_content_blocks(content: Any) -> list[Json]:
    """Returns the blocks of a message's content; an empty text has none."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [to_block(part) for part in content]


def _convert_value(value: Any) -> Any:
    if isinstance(value, BaseMessageChunk):
        value = message_chunk_to_message(value)
    form = to_json_form(value)
    return _convert_state(form) if isinstance(value, BaseModel) else form


def _convert_state(value: Any) -> Any:
    if isinstance(value, list):
        return [_convert_state(part) for part in value]
    if not isinstance(value, dict):
        return value
    if value.get("type") in _TYPES and "content" in value:
        return _convert_message(value)
    return {name: _convert_state(part) for name, part in value.items()}


def _convert_message(message: Json) -> Json:
    kind, content = message["type"], message["content"]
    shown = {"type": kind, "content": [to_block(part) for part in content] if isinstance(content, list) else content}
    for name in (*_ALWAYS, *_MORE.get(kind, ())):
        if _is_filled(message.get(name)):
            shown[name] = message[name]
    if kind == "tool" and "artifact" in message:
        shown["artifact"] = message["artifact"]
    if kind != "ai":
        return shown
    if calls := message.get("tool_calls"):
        names = ("name", "args", "id")
        shown["tool_calls"] = [{"type": "tool_call", **{name: call.get(name) for name in names}} for call in calls]
    if invalid := message.get("invalid_tool_calls"):
        shown["invalid_tool_calls"] = [{**call, "type": "invalid_tool_call"} for call in invalid]
    return shown


def _is_filled(value: Any) -> bool:
    return bool(value) if isinstance(value, (list, dict)) else value is not None
