"""What the request of a run says, in the form in which LangGraph takes it."""

from __future__ import annotations

import functools
import importlib.metadata
import uuid
from typing import Any

from gx_runner.checkpoints.unshown import UNSHOWN
from gx_runner.graphs.compat import can_take_context
from gx_runner.graphs.context import pick_fields
from gx_runner.graphs.loading import Graph
from gx_runner.graphs.older import build_durability, read_context_schema
from gx_runner.graphs.user import wrap_user
from gx_runner.running.events import choose_graph_modes


@functools.cache
def _read_langgraph_version() -> str:
    return importlib.metadata.version("langgraph")


def build_config(spec: dict[str, Any]) -> dict[str, Any]:
    """Returns the configuration of a run as LangGraph takes it, with what the server knows of the run."""
    given = spec["kwargs"]["config"]
    own = {"run_attempt": spec["attempt"], "langgraph_version": _read_langgraph_version()}
    about = {"langgraph_plan": "self_hosted", "langgraph_host": "self-hosted", "langgraph_api_url": None}
    configurable = wrap_user(given.get("configurable") or {})
    names = ("tags", "recursion_limit", "max_concurrency", "run_name")
    config = {name: given[name] for name in names if given.get(name) is not None}
    return {
        **config,
        "metadata": {**(given.get("metadata") or {}), **own, **about},
        "configurable": {
            **configurable,
            "thread_id": spec["thread_id"],
            "run_id": spec["run_id"],
            **({UNSHOWN: unshown} if (unshown := spec["kwargs"].get("unshown")) else {}),
        },
        **({"run_id": uuid.UUID(spec["run_id"])} if spec["attempt"] == 1 else {}),
    }


def build_keywords(graph: Graph, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Returns what else the call of a graph is given."""
    keywords = build_durability(graph, kwargs["durability"])
    if not kwargs.get("protocol"):
        keywords |= {"stream_mode": choose_graph_modes(kwargs["stream_mode"]), "subgraphs": kwargs["subgraphs"]}
    for name in ("interrupt_before", "interrupt_after"):
        if kwargs[name] is not None:
            keywords[name] = kwargs[name]
    if can_take_context(graph):
        # LangGraph makes the class of a context, with its defaults, of no fields at all, and nothing of None.
        keywords["context"] = pick_fields(read_context_schema(graph), kwargs["context"] or {})
    return keywords
