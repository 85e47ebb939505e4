"""The lists that runs stand on, so that a step is compared with the last one and its state is not read again."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from gx_runner.checkpoints.elements import Loader, estimate_bytes
from gx_runner.checkpoints.lists import Key, ListVersion
from gx_runner.graphs.compat import read_classes

# Bytes of lists that are remembered: some 20,000 short messages.
MOST_BYTES = 24 * 1024 * 1024
# Checkpoints of each graph: the one that a run stands on, and those that it looked at before.
_OF_EACH = 3
# The approximate bytes that a remembered graph takes besides its lists.
_GRAPH_BYTES = 500

CheckpointKey = tuple[str, str, str]
# Channel -> the list that it holds.
ListsOfCheckpoint = Mapping[str, ListVersion]
# A thread, and the namespace of a graph in it.
_Graph = tuple[str, str]


class Lists:
    """Remembers lists by the checkpoints that have them. Savers of any thread of the process use it.

    A forgotten list is read again, or stored whole, so nothing goes wrong without it.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        """The graphs that were used longest ago are forgotten above so many bytes."""
        self._most_bytes = most_bytes
        self._graphs: dict[_Graph, dict[str, ListsOfCheckpoint]] = {}
        self._weights: dict[_Graph, int] = {}
        self._bytes = 0
        self._numbers: dict[Any, int] = {}
        self._lock = threading.Lock()

    def get_loader(self, serde: Any) -> Loader:
        """Returns how a serializer makes elements."""
        with self._lock:
            number = self._numbers.setdefault(read_classes(serde), len(self._numbers) + 1)
        return Loader(number, lambda blob: serde.loads_typed(("msgpack", blob)))

    def list_known(self, thread_id: str, namespace: str | None) -> dict[Key, ListVersion]:
        """Returns the lists of one graph that need not be read."""
        if namespace is None:
            return {}
        with self._lock:
            checkpoints = list(self._graphs.get((thread_id, namespace), {}).values())
        return {(namespace, channel, one.version): one for lists in checkpoints for channel, one in lists.items()}

    def find_lists(self, key: CheckpointKey) -> ListsOfCheckpoint:
        """Returns the lists of a checkpoint, where they are remembered."""
        with self._lock:
            return self._graphs.get(key[:2], {}).get(key[2], {})

    def keep(self, key: CheckpointKey, lists: ListsOfCheckpoint) -> None:
        """Remembers the lists of a checkpoint as those that were used last."""
        graph = key[:2]
        with self._lock:
            # The entry that was used last comes last.
            checkpoints = self._drop(graph)
            checkpoints.pop(key[2], None)
            if lists:
                checkpoints[key[2]] = lists
            while len(checkpoints) > _OF_EACH:
                del checkpoints[next(iter(checkpoints))]
            # A graph without lists takes no room, however many there are.
            if not checkpoints:
                return
            self._graphs[graph] = checkpoints
            self._weights[graph] = _GRAPH_BYTES + _estimate_bytes(lists)
            self._bytes += self._weights[graph]
            while self._bytes > self._most_bytes and self._graphs:
                self._drop(next(iter(self._graphs)))

    def _drop(self, graph: _Graph) -> dict[str, ListsOfCheckpoint]:
        self._bytes -= self._weights.pop(graph, 0)
        return {**self._graphs.pop(graph, {})}


def _estimate_bytes(lists: ListsOfCheckpoint) -> int:
    return sum(estimate_bytes(one.elements) for one in lists.values())
