"""The records that a run's settings and a cron's call hold, which are copies of others: input, context, `configurable`.

A module that encrypts a key of a record must find it in its copies, so `json` gets each of them as a record of its own.
The places are those of src/agent/encryption/inner-records.ts.
"""

from __future__ import annotations

from typing import Any

Path = list[str]

_HOLDERS = {"run.kwargs", "cron.payload"}
_PLACES: list[Path] = [
    ["input"],
    ["context"],
    ["metadata"],
    ["config", "configurable"],
    ["config", "metadata"],
    ["command", "update"],
    ["command", "resume"],
    ["command", "goto", "input"],
]


def list_inner_records(of: str, holder: dict[str, Any]) -> list[Path]:
    """Returns the places of the records that an object of the field holds."""
    if of not in _HOLDERS:
        return []
    goto = find_value_at(holder, ["command", "goto"])
    targets = [["command", "goto", str(at), "input"] for at in range(len(goto))] if isinstance(goto, list) else []
    return [path for path in [*_PLACES, *targets] if isinstance(find_value_at(holder, path), dict)]


def list_inner_values(of: str, holder: dict[str, Any]) -> list[Path]:
    """Returns the places of values in the same objects that have a field of their own, as the webhook of a run has."""
    return [["webhook"]] if of in _HOLDERS and isinstance(holder.get("webhook"), str) else []


def find_value_at(holder: Any, path: Path) -> Any:
    """Returns the value at the place; None where there is none."""
    for name in path:
        if isinstance(holder, dict):
            holder = holder.get(name)
        elif isinstance(holder, list) and name.isdecimal() and int(name) < len(holder):
            holder = holder[int(name)]
        else:
            return None
    return holder


def replace_value_at(holder: Any, path: Path, value: Any) -> Any:
    """Returns a copy of the object with another value at the place."""
    if not path:
        return value
    name, *rest = path
    if isinstance(holder, list):
        return [replace_value_at(one, rest, value) if at == int(name) else one for at, one in enumerate(holder)]
    return {**holder, name: replace_value_at(holder[name], rest, value)}


def format_place(of: str, path: Path) -> str:
    """Returns the kind and the field of the part at a place, as handlers get them."""
    return f"{of.partition('.')[0]}.{path[-1]}"
