"""Schemas and drawings of graphs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any, get_type_hints, is_typeddict

from pydantic import TypeAdapter, create_model

from gx_runner.graphs.compat import list_state_fields
from gx_runner.graphs.loading import Graph
from gx_runner.graphs.older import list_context_ways, read_context_schema
from gx_runner.running.state import Args, States

_log = logging.getLogger("gx_runner")


async def build_schemas(args: Args, states: States) -> Any:
    """Returns the JSON Schemas of a graph."""
    async with states.open_graph(args, "assistants.read") as graph:
        return {"graph_id": args["graph_id"], **_build_graph_schemas(graph, args["graph_id"])}


async def draw_graph(args: Args, states: States) -> Any:
    """Returns nodes and edges, with as many levels of subgraphs as asked for."""
    async with states.open_graph(args, "assistants.read") as graph:
        drawn = (await graph.aget_graph(xray=args["xray"])).to_json()
    for node in drawn["nodes"]:
        if isinstance(data := node.get("data"), dict) and isinstance(data.get("id"), list):
            node["data"] = {"name": data.get("name")}
    return drawn


async def build_subgraph_schemas(args: Args, states: States) -> Any:
    """Returns the schemas of the subgraphs, by namespace."""
    async with states.open_graph(args, "assistants.read") as graph:
        found = graph.aget_subgraphs(namespace=args.get("namespace"), recurse=args.get("recurse") is True)
        return {name: _build_graph_schemas(one, name) async for name, one in found}  # type: ignore[arg-type]


def _build_graph_schemas(graph: Graph, name: str) -> dict[str, Any]:
    def build_fields(side: str) -> Any:
        return _build_schema(graph, list_state_fields(graph, side))

    def build_context() -> Any:
        return _build_context_schema(graph)

    ways: dict[str, list[Callable[[], Any]]] = {
        "input": [graph.get_input_jsonschema, lambda: build_fields("input")],
        "output": [graph.get_output_jsonschema, lambda: build_fields("output")],
        "state": [lambda: _build_schema(graph, graph.stream_channels_list)],
        "config": [lambda: _build_config_schema(graph), build_context],
        "context": [*list_context_ways(graph), build_context],
    }
    faults: dict[str, Exception] = {}
    schemas = {f"{side}_schema": _build_first(some, side, faults) for side, some in ways.items()}
    _report_faults(faults, name)
    return schemas


def _build_first(ways: list[Callable[[], Any]], side: str, faults: dict[str, Exception]) -> Any:
    """Returns the schema of the first way that makes one. Where none does, the first fault is kept under `side`."""
    fault: Exception | None = None
    for way in ways:
        try:
            if schema := way():
                return schema
        except Exception as error:
            fault = fault or error
    if fault is not None:
        faults[side] = fault
    return None


# Sentences that were logged. Clients ask for schemas again and again.
_told: set[str] = set()


def _report_faults(faults: dict[str, Exception], name: str) -> None:
    if not faults:
        return
    # Pydantic puts an address of its own pages on a line below the reason.
    reason = str(next(iter(faults.values()))).strip().split("\n")[0]
    sentence = f'Graph "{name}": clients get no schema of its {" and ".join(faults)}, because none can be made: {reason}'
    if sentence not in _told:
        _told.add(sentence)
        _log.warning("%s", sentence)


def _build_schema(graph: Graph, names: Iterable[str] | None) -> Any:
    """Returns a schema of the fields with these names, by the types of their channels.

    Pydantic makes none of a `typing.TypedDict` before Python 3.12, and of no class that has a field which it does not know.
    """
    if names is None:
        return None
    channels: dict[str, Any] = dict(graph.channels)
    fields = {name: (_require_type(channels[name].UpdateType), None) for name in names if name in channels}
    return create_model(graph.get_name("State"), **fields).model_json_schema()  # type: ignore[call-overload]


def _build_context_schema(graph: Graph) -> Any:
    """Returns the schema of a context that is a `typing.TypedDict`, by its fields."""
    context = read_context_schema(graph)
    if context is None or not is_typeddict(context):
        return None
    required = context.__required_keys__
    fields = {
        name: (_require_type(hint), ... if name in required else None) for name, hint in get_type_hints(context).items()
    }
    return create_model(context.__name__, **fields).model_json_schema()  # type: ignore[call-overload]


def _require_type(wanted: Any) -> Any:
    """Returns a type that has a schema: this one, or any."""
    try:
        TypeAdapter(wanted).json_schema()
    except Exception:
        return Any
    return wanted


def _build_config_schema(graph: Graph) -> Any:
    """Returns the schema of the settings that a graph asks for in `configurable`."""
    context = read_context_schema(graph)
    return None if context is None else TypeAdapter(context).json_schema()
