"""Schemas and drawings of graphs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from pydantic import TypeAdapter, create_model

from gx_runner.compat import list_state_fields
from gx_runner.loading import Graph
from gx_runner.state import Args, States

_log = logging.getLogger("gx_runner")


async def build_schemas(args: Args, states: States) -> Any:
    """Returns the JSON Schemas of a graph."""
    async with states.open_graph(args, "assistants.read") as graph:
        return {"graph_id": args["graph_id"], **_build_graph_schemas(graph)}


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
        return {name: _build_graph_schemas(one) async for name, one in found}  # type: ignore[arg-type]


def _build_graph_schemas(graph: Graph) -> dict[str, Any]:
    def complete(side: str, declared: Callable[[], Any]) -> Any:
        return _try_schema(declared) or _try_schema(lambda: _build_schema(graph, list_state_fields(graph, side)))

    return {
        "input_schema": complete("input", graph.get_input_jsonschema),
        "output_schema": complete("output", graph.get_output_jsonschema),
        "state_schema": _try_schema(lambda: _build_schema(graph, graph.stream_channels_list)),
        "config_schema": _try_schema(lambda: _build_config_schema(graph)),
        "context_schema": _try_schema(graph.get_context_jsonschema),
    }


def _try_schema(schema: Callable[[], Any]) -> Any:
    try:
        return schema()
    except Exception as error:
        _log.warning("A schema of a graph can't be made: %s", error)
        return None


def _build_schema(graph: Graph, names: Iterable[str] | None) -> Any:
    """Returns a schema of the fields with these names, by the types of their channels.

    Pydantic makes none of a `typing.TypedDict` before Python 3.12, and of no class that has a field which it does not know.
    """
    if names is None:
        return None
    fields = {name: (_find_type(graph.channels[name]), None) for name in names if name in graph.channels}
    return create_model(graph.get_name("State"), **fields).model_json_schema()  # type: ignore[call-overload]


def _find_type(channel: Any) -> Any:
    """Returns the type of a channel's updates; any, where it has no schema."""
    try:
        TypeAdapter(channel.UpdateType).json_schema()
    except Exception:
        return Any
    return channel.UpdateType


def _build_config_schema(graph: Graph) -> Any:
    """Returns the schema of the settings that a graph asks for in `configurable`."""
    context = graph.context_schema
    return None if context is None else TypeAdapter(context).json_schema()
