"""The JSON of a state, made from that of its earlier parts: most elements of a long list are those of the last step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from gx_runner.checkpoints.elements import Element, Loader, count_same
from gx_runner.checkpoints.lists import ListVersion
from gx_runner.checkpoints.remembered import ListsOfCheckpoint
from gx_runner.wall.encode import OPTIONS, to_json, to_json_form


class LastLists(NamedTuple):
    """The lists of the last step that was read or stored."""

    lists: ListsOfCheckpoint
    loader: Loader
    # The graph's own objects of those that this step has changed.
    own: Mapping[str, Any]


def encode_state(state: Any, last: LastLists | None, *, over: bool) -> bytes:
    """Returns the JSON of a state. It is that of `to_json`, sooner where the state has long lists.

    Once the graph is `over`, a list that its last step has stored is not compared again: no code can have changed it.
    """
    if last is None or not last.lists or not isinstance(state, dict):
        return to_json(state)
    try:
        stored = last.own if over else {}
        texts = {
            name: _encode_list(value, last.lists[name], last.loader, is_stored=stored.get(name) is value)
            for name, value in state.items()
            if name in last.lists
        }
        fragments = {name: orjson.Fragment(text) for name, text in texts.items() if text is not None}
        return orjson.dumps({**state, **fragments}, default=to_json_form, option=OPTIONS)
    except Exception:
        # Some part has no JSON of its own. The whole has one, or says why not.
        return to_json(state)


def _encode_list(value: Any, version: ListVersion, loader: Loader, *, is_stored: bool) -> bytes | None:
    """Returns the JSON of a list that begins as the version does; None for others."""
    if type(value) is not list:
        return None
    same = len(value) if is_stored else count_same(value, version.elements, loader)
    if same == 0:
        return None
    elements, number = version.elements[:same], loader.number
    texts = [text[1] for element in elements if (text := element.text) is not None and text[0] == number]
    if len(texts) < same:
        texts = [_encode_element(one, element, number) for one, element in zip(value[:same], elements, strict=True)]
    texts.extend([to_json(one) for one in value[same:]])
    return b"[" + b",".join(texts) + b"]"


def _encode_element(value: Any, element: Element, number: int) -> bytes:
    text = element.text
    if text is None or text[0] != number:
        text = element.text = (number, to_json(value))
    return text[1]
