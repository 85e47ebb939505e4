"""Checkpoints that were read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from langgraph.checkpoint.base import CheckpointTuple

from gx_runner import questions
from gx_runner.elements import Loader, live
from gx_runner.failures import ProblemError
from gx_runner.lists import Key, ListRow, ListVersion, as_stored, lists_of
from gx_runner.wire import Answer, Message

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

    def next(self, length: int) -> bytes:
        self._at += length
        return self._blobs[self._at - length : self._at]


def found_in(answer: Answer, known: Mapping[Key, ListVersion], serde: Any, loader: Loader) -> Sequence[Found]:
    """Returns the checkpoints of an answer, whose lists are made from its rows and from those that are known."""
    behind = _Bytes(answer.blobs)
    rows = [
        ListRow((row["namespace"], row["channel"], row["version"]), row, behind.next(row["blob"]))
        for row in answer.message.get("lists", ())
    ]
    lists = lists_of(rows, known)

    def loaded(value: Message) -> Any:
        kind = _own_type(value)
        try:
            return serde.loads_typed((kind, behind.next(value["blob"])))
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
                values[channel] = loaded(value)
            elif _own_type(value):
                own[channel] = as_stored(lists[(found["namespace"], channel, value["version"])], value["base"])
                values[channel] = live(own[channel].elements, loader)
        return Found(_tuple(found, values, loaded), own)

    return [read(found) for found in answer.message["checkpoints"]]


def _own_type(value: Message) -> str:
    """Returns the type of a value without its language, which has to be this one."""
    kind = str(value["type"])
    if not kind.startswith(LANGUAGE):
        raise ProblemError(409, f'A graph in another language has written this thread: it holds "{kind}".')
    return kind.removeprefix(LANGUAGE)


def _tuple(found: Message, values: dict[str, Any], loaded: Callable[[Message], Any]) -> CheckpointTuple:
    writes = [(write["task_id"], write["channel"], loaded(write)) for write in found["writes"]]
    place = (found["thread_id"], found["namespace"])
    checkpoint: Any = {"channel_versions": {}, "versions_seen": {}, **found["checkpoint"], "channel_values": values}
    return CheckpointTuple(
        config=questions.at(*place, found["checkpoint_id"]),
        checkpoint=checkpoint,
        metadata=found["metadata"],
        parent_config=questions.at(*place, found["parent"]) if found["parent"] is not None else None,
        pending_writes=writes,
    )
