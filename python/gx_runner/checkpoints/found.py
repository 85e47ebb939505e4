"""Checkpoints that were read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from langgraph.checkpoint.base import CheckpointTuple

from gx_runner.checkpoints.elements import Loader, decode_elements
from gx_runner.checkpoints.lists import Key, ListRow, ListVersion, build_lists, replace_base
from gx_runner.checkpoints.sends import move_sends_beside
from gx_runner.wall import questions
from gx_runner.wall.failures import ProblemError
from gx_runner.wall.wire import Answer, Message

# The language that stands before each type of a stored value.
LANGUAGE = "py:"


class Found(NamedTuple):
    """A checkpoint, and the lists that it has, by their channels."""

    checkpoint: CheckpointTuple
    lists: dict[str, ListVersion]


class _Bytes:
    """The bytes behind an answer: those of its lists, then those of all other values, in their order."""

    def __init__(self, blobs: bytes) -> None:
        self._blobs = blobs
        self._at = 0

    def take(self, length: int) -> bytes:
        self._at += length
        return self._blobs[self._at - length : self._at]


def read_checkpoints(answer: Answer, known: Mapping[Key, ListVersion], serde: Any, loader: Loader) -> Sequence[Found]:
    """Returns the checkpoints of an answer, whose lists are made from its rows and from those that are known."""
    behind = _Bytes(answer.blobs)
    rows = [
        ListRow((row["namespace"], row["channel"], row["version"]), row, behind.take(row["blob"]))
        for row in answer.message.get("lists", ())
    ]
    lists = build_lists(rows, known)

    def load_value(value: Message) -> Any:
        kind = _read_type(value)
        try:
            return serde.loads_typed((kind, behind.take(value["blob"])))
        except NotImplementedError:
            sentence = f'The state holds a value of the type "{kind}", which is not read here.'
            hint = ' "checkpointer.serde.pickle_fallback" of gx.json allows it.' if kind == "pickle" else ""
            raise ProblemError(409, sentence + hint) from None

    def read(found: Message) -> Found:
        own: dict[str, ListVersion] = {}
        values: dict[str, Any] = {}
        for value in found["values"]:
            channel = value["channel"]
            if "blob" in value:
                values[channel] = load_value(value)
            elif _read_type(value):
                own[channel] = replace_base(lists[(found["namespace"], channel, value["version"])], value["base"])
                values[channel] = decode_elements(own[channel].elements, loader)
        return Found(_build_tuple(found, values, load_value), own)

    return [read(found) for found in answer.message["checkpoints"]]


def _read_type(value: Message) -> str:
    """Returns the type of a value without its language, which has to be this one."""
    kind = str(value["type"])
    if not kind.startswith(LANGUAGE):
        raise ProblemError(409, f'A graph in another language has written this thread: it holds "{kind}".')
    return kind.removeprefix(LANGUAGE)


def _build_tuple(found: Message, values: dict[str, Any], load_value: Callable[[Message], Any]) -> CheckpointTuple:
    writes = [(write["task_id"], write["channel"], load_value(write)) for write in found["writes"]]
    place = (found["thread_id"], found["namespace"])
    checkpoint: Any = {"channel_versions": {}, "versions_seen": {}, **found["checkpoint"], "channel_values": values}
    return CheckpointTuple(
        config=questions.build_place(*place, found["checkpoint_id"]),
        checkpoint=move_sends_beside(checkpoint),
        metadata=found["metadata"],
        parent_config=questions.build_place(*place, found["parent"]) if found["parent"] is not None else None,
        pending_writes=writes,
    )
