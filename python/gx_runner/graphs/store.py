"""The store of the deployment, as graphs see it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import orjson
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)

from gx_runner.wall.encryption_context import add_encryption_context
from gx_runner.wall.failures import ProblemError
from gx_runner.wall.wire import Answer, Message, Wall

# A hundred years in minutes (LONGEST_LIFE in store-item.ts).
_LONGEST_LIFE = 52_596_000


class Store(BaseStore):
    """LangGraph's store, whose items the server keeps."""

    supports_ttl = True

    def __init__(self, wall: Wall, life: dict[str, Any] | None) -> None:
        """`life` says how long items live that say nothing themselves; forever where it is None."""
        self._wall = wall
        self.ttl_config: TTLConfig = {"refresh_on_read": True} if life is None else _build_ttl_config(life)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Carries out operations in their order."""
        return [_read_result(op, await self._wall.ask(_build_question(op))) for op in ops]

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Does the same for code that can not await."""
        return [_read_result(op, self._wall.ask_now(_build_question(op))) for op in ops]


def _build_ttl_config(life: dict[str, Any]) -> TTLConfig:
    return {"default_ttl": life["defaultTtl"], "refresh_on_read": life["refresh"]}


def _build_question(op: Op) -> Message:
    return add_encryption_context({"kind": "store", "operation": _build_operation(op)})


def _build_operation(op: Op) -> Message:
    if isinstance(op, GetOp):
        return {"does": "get", "namespace": list(op.namespace), "key": op.key, "refresh": op.refresh_ttl}
    if isinstance(op, PutOp):
        return _build_put(op)
    if isinstance(op, SearchOp):
        renewing = {"refresh_ttl": op.refresh_ttl}
        of_prefix = {"namespace_prefix": list(op.namespace_prefix), "filter": op.filter, "query": op.query}
        return {"does": "search", "search": {**of_prefix, "limit": op.limit, "offset": op.offset, **renewing}}
    if isinstance(op, ListNamespacesOp):
        return _build_namespaces(op)
    raise ProblemError(501, f"The store does not know the operation {type(op).__name__}.")


def _build_put(op: PutOp) -> Message:
    item: Message = {"namespace": list(op.namespace), "key": op.key}
    if op.value is None:
        return {"does": "delete", **item}
    if op.ttl is not None and not 0 < op.ttl <= _LONGEST_LIFE:
        raise ProblemError(422, f"The ttl of an item are minutes above 0 and up to {_LONGEST_LIFE}, not {op.ttl}.")
    index = {} if op.index is None else {"index": op.index}
    return {"does": "put", **item, "value": op.value, "ttl": op.ttl, **index}


def _build_namespaces(op: ListNamespacesOp) -> Message:
    conditions = op.match_conditions or ()
    for kind in ("prefix", "suffix"):
        if sum(one.match_type == kind for one in conditions) > 1:
            raise ProblemError(501, f"The store lists namespaces by one {kind}, not by several.")
    search = {
        "prefix": _find_path(conditions, "prefix"),
        "suffix": _find_path(conditions, "suffix"),
        "max_depth": op.max_depth,
    }
    return {"does": "namespaces", "search": {**search, "limit": op.limit, "offset": op.offset}}


def _find_path(conditions: Iterable[MatchCondition], kind: str) -> list[str] | None:
    return next((list(one.path) for one in conditions if one.match_type == kind), None)


def _read_result(op: Op, answer: Answer) -> Result:
    found = orjson.loads(answer.blobs)
    if isinstance(op, GetOp):
        return None if found is None else Item(**_read_fields(found))
    if isinstance(op, SearchOp):
        return [SearchItem(**_read_fields(item), score=item.get("score")) for item in found]
    if isinstance(op, ListNamespacesOp):
        return [tuple(namespace) for namespace in found]
    return None


def _read_fields(item: dict[str, Any]) -> dict[str, Any]:
    times = {name: datetime.fromisoformat(item[name].replace("Z", "+00:00")) for name in ("created_at", "updated_at")}
    return {"value": item["value"], "key": item["key"], "namespace": tuple(item["namespace"]), **times}
