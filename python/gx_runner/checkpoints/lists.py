"""A version of a list is stored as what it adds to another one (list-rows.ts has the form of the rows)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from gx_runner.checkpoints.elements import Element, Loader, build_mark, count_same
from gx_runner.wall.wire import Message

# Rows of a chain before one sums them up (STEPS in list-rows.ts).
STEPS = 64
# Elements of the last version that are compared with one of the new version, from where the last match was.
_AHEAD = 8

# Channels share versions, so only both together name a list.
Key = tuple[str, str, str]


class Anchor(NamedTuple):
    """The last row that sums up."""

    version: str
    elements: Sequence[Element]
    stored: int


@dataclass(frozen=True, slots=True)
class ListVersion:
    """A version of a list, with the facts about the rows below it that the next version needs."""

    version: str
    base: str | None
    elements: Sequence[Element]
    # Rows between this one and the last one that sums up.
    steps: int
    # Elements and rows that a reader of this version reads.
    stored: int
    anchor: Anchor | None


class NewList(NamedTuple):
    """A row to be stored, the bytes behind it, and the version that it makes."""

    row: Message
    blob: bytes
    list: ListVersion


class Identified(NamedTuple):
    """The elements of a list. `fresh` are the ids of those that no version has yet."""

    elements: Sequence[Element]
    fresh: frozenset[int]


def match_elements(
    value: Sequence[Any], before: Sequence[Element], loader: Loader, dumps: Callable[[Any], bytes | None]
) -> Identified | None:
    """Returns the elements of a list: those of the last version where they are the same.

    Returns None where `dumps` has no bytes for an element, so that the list can only be written as a whole.
    """
    same = at = count_same(value, before, loader)
    found: list[Element | bytes] = []
    passed: list[Element] = []
    for one in value[same:]:
        place, end = at, min(len(before), at + _AHEAD)
        mark = build_mark(one) if before else None
        while place < end and (mark is None or before[place].get_mark(loader) != mark):
            place += 1
        if place < end:
            passed.extend(before[at:place])
            found.append(before[place])
            at = place + 1
            continue
        blob = dumps(one)
        if blob is None:
            return None
        found.append(blob)
    passed.extend(before[at:])
    return _match_by_bytes(before[:same], found, passed)


def _match_by_bytes(same: Iterable[Element], found: Sequence[Element | bytes], passed: Iterable[Element]) -> Identified:
    """Identifies by their bytes the elements that are not surely the same."""
    known: dict[bytes, Element] | None = None
    elements = list(same)
    fresh: set[int] = set()
    for one in found:
        if isinstance(one, bytes):
            if known is None:
                known = {element.blob: element for element in passed}
            element = known.get(one)
            if element is None:
                element = Element(one)
                fresh.add(id(element))
            elements.append(element)
        else:
            elements.append(one)
    return Identified(elements, frozenset(fresh))


def build_next_list(before: ListVersion | None, version: str, new: Identified) -> NewList:
    """Returns how a list is stored as the next version after `before`.

    It is a change of that version, every 64 steps the sum of these changes, and whole where a reader would read more
    than twice its elements.
    """
    if before is None or before.anchor is None:
        return _build_whole(version, new.elements)
    sums_up = before.steps + 1 >= STEPS
    base: ListVersion | Anchor = before.anchor if sums_up else before
    parts, added = _build_parts(new, base.elements)
    steps = 0 if sums_up else before.steps + 1
    stored = base.stored + len(added) + 1
    if stored > 2 * len(new.elements) + STEPS:
        return _build_whole(version, new.elements)
    anchor = Anchor(version, new.elements, stored) if sums_up else before.anchor
    made = ListVersion(version, base.version, new.elements, steps, stored, anchor)
    row = {"base": base.version, "steps": steps, "stored": stored, "parts": parts}
    return NewList(row, b"".join(element.blob for element in added), made)


def _build_whole(version: str, elements: Sequence[Element]) -> NewList:
    made = build_whole_list(version, elements)
    parts = [{"new": [len(element.blob) for element in elements]}] if elements else []
    row = {"base": None, "steps": 0, "stored": made.stored, "parts": parts}
    return NewList(row, b"".join(element.blob for element in elements), made)


def build_whole_list(version: str, elements: Sequence[Element]) -> ListVersion:
    """Returns the version of a list that is stored whole."""
    stored = len(elements) + 1
    return ListVersion(version, None, elements, 0, stored, Anchor(version, elements, stored))


def _build_parts(new: Identified, base: Sequence[Element]) -> tuple[list[Any], list[Element]]:
    """Returns the parts of a list, and its new elements. An element of the base is named by its number there."""
    numbers: dict[int, int] | None = None
    goes_on = 0 < len(base) <= len(new.elements) and all(map(operator.is_, base, new.elements))
    parts: list[Any] = [[0, len(base) - 1]] if goes_on else []
    added: list[Element] = []
    for at, element in enumerate(new.elements[len(base) :] if goes_on else new.elements, len(base) if goes_on else 0):
        number = at if at < len(base) and base[at] is element else None
        if number is None and id(element) not in new.fresh:
            if numbers is None:
                numbers = {id(one): place for place, one in enumerate(base)}
            number = numbers.get(id(element))
        last = parts[-1] if parts else None
        if number is None:
            added.append(element)
            if isinstance(last, dict):
                last["new"].append(len(element.blob))
            else:
                parts.append({"new": [len(element.blob)]})
        elif isinstance(last, list) and last[1] + 1 < len(base) and base[last[1] + 1] is element:
            last[1] += 1
        else:
            parts.append([number, number])
    return parts, added


class ListRow(NamedTuple):
    """A row as it was read, with the bytes of its new elements."""

    key: Key
    content: Message
    blob: bytes


def build_lists(rows: Sequence[ListRow], known: Mapping[Key, ListVersion]) -> dict[Key, ListVersion]:
    """Returns the lists that the rows stand for, and those that are known.

    Raises where a row or an element is missing, because a shorter list would be a wrong one.
    """
    lists = dict(known)
    waiting = {row.key: row for row in rows}
    for row in rows:
        way: list[ListRow] = []
        step: ListRow | None = row
        while step is not None and step.key not in lists:
            way.append(step)
            step = waiting.get(_build_base_key(step)) if step.content["base"] is not None else None
        for one in reversed(way):
            lists[one.key] = _build_list(one, lists)
    return lists


def _build_base_key(row: ListRow) -> Key:
    return (row.key[0], row.key[1], row.content["base"])


def _build_list(row: ListRow, lists: Mapping[Key, ListVersion]) -> ListVersion:
    version, content = row.key[2], row.content
    below = lists.get(_build_base_key(row)) if content["base"] is not None else None
    if content["base"] is not None and below is None:
        raise LookupError(f'Version {version} of "{row.key[1]}" has lost its base {content["base"]}.')
    elements = _read_elements(row, below.elements if below else ())
    steps, stored = content["steps"], content["stored"]
    anchor = Anchor(version, elements, stored) if steps == 0 or below is None else below.anchor
    return ListVersion(version, content["base"], elements, steps, stored, anchor)


def _read_elements(row: ListRow, base: Sequence[Element]) -> Sequence[Element]:
    elements: list[Element] = []
    at = 0
    for part in row.content["parts"]:
        if isinstance(part, dict):
            for length in part["new"]:
                elements.append(Element(row.blob[at : at + length]))
                at += length
        else:
            first, last = part
            if last >= len(base):
                raise LookupError(f"A list names element {last} of a base that has {len(base)}.")
            elements.extend(base[first : last + 1])
    if at != len(row.blob):
        raise LookupError(f'Version {row.key[2]} of "{row.key[1]}" has {len(row.blob)} bytes, and names {at}.')
    return elements


def replace_base(found: ListVersion, base: str | None) -> ListVersion:
    """Returns the list as it is stored now. One that was pruned since it was remembered stands on other rows."""
    if found.base == base:
        return found
    return build_whole_list(found.version, found.elements) if base is None else replace(found, base=base, anchor=None)
