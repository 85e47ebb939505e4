"""Gives each graph of the process a twin's state: beside its own fields it holds values of classes, which each node looks at.

Python imports this by itself where the folder is on PYTHONPATH. The field is no part of what the graph streams and shows,
so its tests expect the same. Each step of each graph, subgraph and entrypoint writes it anew, and fails unless it reads
what the step before it has written: the same values, of the same classes, wherever these were stored meanwhile.
"""

import importlib.util
import itertools
import os
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# A name that no graph has.
KEPT = "values_of_classes"
# The tests are run from the root of the repository, and most servers find no module there.
sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
_numbers = itertools.count()


def _twin_of(graph: Any) -> Any:
    """Returns the graph with nodes that look at the field, and write it anew."""
    from langgraph._internal._runnable import RunnableCallable

    for name, node in graph.nodes.items():
        node.writers = [*node.writers, RunnableCallable(_looking(name), trace=False, name="look")]
        # What was made of the writers before.
        for cached in ("flat_writers", "node"):
            node.__dict__.pop(cached, None)
    return graph


def _looking(node: str) -> Callable[..., Any]:
    from classes.values import owner, values
    from langchain_core.runnables import RunnableConfig
    from langgraph._internal._constants import CONF, CONFIG_KEY_READ
    from langgraph.pregel._write import ChannelWrite, ChannelWriteEntry
    from langgraph.types import Send

    def look(value: Any, config: RunnableConfig) -> Any:
        kept = config[CONF][CONFIG_KEY_READ]([KEPT]).get(KEPT)
        _report(node, _missed(kept) if kept else None)
        name = f"{node} {next(_numbers)}"
        new = {**values(name), "name": name, "sent": Send("nowhere", owner(name))}
        ChannelWrite.do_write(config, [ChannelWriteEntry(KEPT, new)])
        return value

    return look


def _missed(kept: dict[str, Any]) -> list[str]:
    from classes.values import differing, form_of, owner

    sent = form_of([kept["sent"].node, kept["sent"].arg]) == form_of(["nowhere", owner(kept["name"])])
    return [*differing(kept, kept["name"]), *([] if sent else ["sent"])]


def _report(node: str, missed: list[str] | None) -> None:
    """Tells the tests that a node has looked, and ends it where something is missed."""
    with open(os.environ["GX_TEST_CLASSES_SEEN"], "a") as file:
        file.write(f"{'begins' if missed is None else 'misses' if missed else 'finds'} {node}\n")
    if missed:
        raise AssertionError(f"{node} finds no longer as they were: {', '.join(missed)}")


def _channel() -> Any:
    from classes.values import Kept
    from langgraph.channels.binop import BinaryOperatorAggregate

    # Nodes of one step write all of them, and the last one stays.
    return BinaryOperatorAggregate(Kept, _last)


def _last(_: Any, new: Any) -> Any:
    return new


def _without(channels: str | Sequence[str]) -> str | Sequence[str]:
    if isinstance(channels, str):
        return channels
    others = [name for name in channels if name != KEPT]
    return "__root__" if others == ["__root__"] else others


def _twin_state_graphs(module: ModuleType) -> None:
    compile_plainly = module.StateGraph.compile

    def compile_twin(self: Any, *args: Any, **kwargs: Any) -> Any:
        if KEPT in self.channels:
            return compile_plainly(self, *args, **kwargs)
        self.channels[KEPT] = _channel()
        try:
            graph = compile_plainly(self, *args, **kwargs)
        finally:
            del self.channels[KEPT]
        graph.stream_channels = _without(graph.stream_channels)
        return _twin_of(graph)

    module.StateGraph.compile = compile_twin


def _twin_entrypoints(module: ModuleType) -> None:
    make_plainly = module.entrypoint.__call__

    def make_twin(self: Any, function: Any) -> Any:
        graph = make_plainly(self, function)
        graph.channels[KEPT] = _channel()
        return _twin_of(graph)

    module.entrypoint.__call__ = make_twin


_PATCHES = {"langgraph.graph.state": _twin_state_graphs, "langgraph.func": _twin_entrypoints}


class _Patching(Loader):
    """Loads a module, and changes it before anybody sees it."""

    def __init__(self, loader: Any, patch: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._patch = patch

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._patch(module)


class _Finder(MetaPathFinder):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in _PATCHES:
            return None
        # It must not ask itself.
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(0, self)
        if spec is not None and spec.loader is not None:
            spec.loader = _Patching(spec.loader, _PATCHES[name])
        return spec


if "GX_TEST_CLASSES_SEEN" in os.environ:
    sys.meta_path.insert(0, _Finder())
