"""Loads the graphs of gx.json: compiled ones, builders, and functions that make one for each call."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import logging
import traceback
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langgraph.pregel import Pregel

from gx_runner.graphs.compat import build_server_runtime, is_server_runtime
from gx_runner.graphs.context import build_context, find_context_class
from gx_runner.graphs.modules import LoadError, describe_error, find_assignment, find_user_place, import_attribute
from gx_runner.graphs.user import wrap_user
from gx_runner.wall.failures import FactoryError, ProblemError

if TYPE_CHECKING:
    Graph = Pregel[Any, Any, Any, Any]
else:
    # It has fewer parameters before 0.6.
    Graph = Pregel

# Seconds after which the log tells of a graph that is still being made.
_LATE_SECONDS = 10
_log = logging.getLogger("gx_runner")


@dataclass(frozen=True)
class Use:
    """The reason why a graph is made: `access` in the words of LangGraph's ServerRuntime."""

    config: dict[str, Any]
    access: str
    store: Any = None
    context: dict[str, Any] | None = None


@dataclass(frozen=True)
class LoadedGraph:
    """`nodes` are the names of its nodes; None where each call may make others. `at` is the place of the function."""

    graph_id: str
    make: Callable[[Use], Any]
    nodes: list[str] | None
    at: str = ""

    @contextlib.asynccontextmanager
    async def open_graph(self, use: Use) -> AsyncIterator[Graph]:
        """Yields the graph for one call. What the function has opened for it is closed behind the call."""
        async with _report_when_late(f'Graph "{self.graph_id}": its function at {self.at}'):
            manager = _wrap_manager(await _resolve_value(self.make(use)))
            value = await self._enter(manager)
        try:
            yield self._require_graph(value)
        except BaseException as error:
            await self._leave(manager, error)
            raise
        await self._leave(manager, None)

    def _require_graph(self, value: Any) -> Graph:
        graph = _compile(value)
        if graph is None:
            kind = type(value).__name__
            raise ProblemError(
                500, f'Graph "{self.graph_id}": its function at {self.at} made a {kind}, which is not a graph.'
            )
        return graph

    async def _enter(self, manager: Any) -> Any:
        try:
            if hasattr(manager, "__aenter__"):
                return await manager.__aenter__()
            return manager.__enter__() if hasattr(manager, "__enter__") else manager
        except Exception as error:
            raise self._build_error("on enter", error) from error

    async def _leave(self, manager: Any, error: BaseException | None) -> None:
        """Closes what was opened. A failure of that does not take the place of the error that ended the call."""
        about = (None, None, None) if error is None else (type(error), error, error.__traceback__)
        try:
            if hasattr(manager, "__aenter__"):
                await manager.__aexit__(*about)
            elif hasattr(manager, "__enter__"):
                manager.__exit__(*about)
        except Exception as failure:
            failed = self._build_error("on exit", failure)
            if error is None:
                raise failed from failure
            if failure is not error:
                _log.error("%s", failed, exc_info=failure)

    def _build_error(self, when: str, error: Exception) -> FactoryError:
        place = find_user_place(traceback.extract_tb(error.__traceback__)) or self.at
        return FactoryError(
            f'Graph "{self.graph_id}": its context manager failed {when} at {place} ({type(error).__name__})', error
        )


async def _resolve_value(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


def _wrap_manager(value: Any) -> Any:
    """Returns what a function has made, as a context manager where it is a generator."""
    if inspect.isasyncgen(value):
        return contextlib.asynccontextmanager(lambda: value)()
    if inspect.isgenerator(value):
        return contextlib.contextmanager(lambda: value)()
    return value


@contextlib.asynccontextmanager
async def _report_when_late(what: str) -> AsyncIterator[None]:
    """Logs that something has not come to its end, which nobody sees otherwise until its caller gives up."""
    sentence = f"{what} has not made the graph for {_LATE_SECONDS} seconds."
    timer = asyncio.get_running_loop().call_later(_LATE_SECONDS, _log.warning, sentence)
    try:
        yield
    finally:
        timer.cancel()


def load_graphs(sources: list[dict[str, Any]], *, partial: bool) -> tuple[dict[str, LoadedGraph], dict[str, str]]:
    """Loads all graphs. Raises `LoadError`, or returns its sentence beside the others where they are to be served."""
    graphs: dict[str, LoadedGraph] = {}
    failures: dict[str, str] = {}
    for source in sources:
        graph_id = source["graphId"]
        try:
            graphs[graph_id] = _load(source)
        except LoadError as error:
            if not partial:
                raise
            failures[graph_id] = str(error)
            graphs[graph_id] = LoadedGraph(graph_id, _build_refusing(str(error)), None)
    return graphs, failures


def _build_refusing(sentence: str) -> Callable[[Use], Any]:
    def build_graph(_: Use) -> Any:
        raise ProblemError(500, sentence)

    return build_graph


def _load(source: dict[str, Any]) -> LoadedGraph:
    graph_id, file, name = source["graphId"], source["file"], source["exportName"]
    what = f'Graph "{graph_id}"'
    exported = import_attribute(what, file, name)
    try:
        if not isinstance(exported, Pregel) and callable(exported) and not hasattr(exported, "compile"):
            return LoadedGraph(graph_id, _build_factory(exported, graph_id), None, _find_definition(exported))
        graph = _compile(exported)
    except LoadError:
        raise
    except Exception as error:
        # No line of the user is at work when a builder is compiled here, so the place is that of the builder.
        raise LoadError(f"{what}: {find_assignment(file, name)}: {describe_error(error)}") from error
    if graph is None:
        kind = type(exported).__name__
        is_none = f"a value of type {kind} is neither a graph, nor a graph builder, nor a function that makes one."
        raise LoadError(f"{what}: {find_assignment(file, name)}: {is_none}")
    return LoadedGraph(graph_id, lambda _: graph, list(graph.nodes))


def _find_definition(function: Any) -> str:
    """Returns the file and the line of a function, or else its name."""
    inner = inspect.unwrap(function.func if isinstance(function, functools.partial) else function)
    code = getattr(inner, "__code__", None) or getattr(type(inner).__call__, "__code__", None)
    if code is None:
        return getattr(inner, "__qualname__", type(inner).__name__)
    return f"{code.co_filename}:{code.co_firstlineno}"


def _compile(value: Any) -> Graph | None:
    """Returns the graph, or that of a builder; None for anything else."""
    if isinstance(value, Pregel):
        return value
    compiles = getattr(value, "compile", None)
    graph = compiles() if callable(compiles) else None
    return graph if isinstance(graph, Pregel) else None


def _build_factory(function: Callable[..., Any], graph_id: str) -> Callable[[Use], Any]:
    """Returns the function with its arguments chosen: none, the configuration, the runtime, or both."""
    parameters = [one for one in inspect.signature(function).parameters.values() if _is_asked(one)]
    runtimes = [one.name for one in parameters if is_server_runtime(one.annotation)]
    if len(parameters) > 2 or len(runtimes) > 1 or (len(parameters) == 2 and not runtimes):
        takes = ", ".join(one.name for one in parameters)
        may = f"its function at {_find_definition(function)} may take a config and a ServerRuntime, and nothing more"
        raise LoadError(f'Graph "{graph_id}": {may}; it takes {takes}.')

    context = next(
        (find_context_class(function, one.name, one.annotation) for one in parameters if one.name in runtimes), None
    )

    def build_graph(use: Use) -> Any:
        given = [
            _build_runtime(use, graph_id, context) if one.name in runtimes else _build_config(use) for one in parameters
        ]
        if len(given) == 2:
            return function(**{one.name: value for one, value in zip(parameters, given, strict=True)})
        return function(*given)

    return build_graph


def _is_asked(parameter: inspect.Parameter) -> bool:
    is_bundle = parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return not is_bundle and parameter.default is inspect.Parameter.empty


def _build_config(use: Use) -> dict[str, Any]:
    configurable = wrap_user(use.config.get("configurable") or {})
    return {**use.config, "configurable": {**configurable, "__is_for_execution__": use.access == "threads.create_run"}}


def _build_runtime(use: Use, graph_id: str, context_class: Any) -> Any:
    """Returns the runtime. Only a run has a context."""
    user = _build_config(use)["configurable"].get("langgraph_auth_user")
    context = build_context(context_class, use.context or {}) if use.access == "threads.create_run" else None
    runtime = build_server_runtime(use.access, store=use.store, user=user, context=context)
    if runtime is None:
        raise ProblemError(500, f'Graph "{graph_id}" asks for a ServerRuntime, which its langgraph-sdk does not have.')
    return runtime
