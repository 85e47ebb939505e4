"""A graph that is given the storage of the server keeps all that LangGraph, or the project, has set on it."""

import os
import subprocess
import sys

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"

from typing import Any

from classes import graphs
from graphs import plain, talking
from gx_runner.running.invoke import bind_graph
from gx_runner.checkpoints.remembered import Lists
from gx_runner.checkpoints.saver import Saver, Storage
from gx_runner.checkpoints.serializer import Classes, build_serializer
from langgraph.graph import START, StateGraph

REPLACED = {"checkpointer", "store", "name"}
wall: Any = object()
store: Any = object()


class Subclass(type(graphs.typed)):  # type: ignore[misc]
    """A project's own kind of graph, whose constructor takes less than LangGraph's copy gives it."""

    def __init__(self, graph: Any) -> None:
        self.__dict__.update(graph.__dict__)


def extended() -> Any:
    graph = StateGraph(graphs.Model).add_node("look", graphs.look).add_edge(START, "look").compile()
    graph.own = {"of": "the project"}
    return graph


compiled = [graphs.typed, graphs.data, graphs.model, graphs.outer, graphs.counts, graphs.names, talking.chat, plain.echo]
for graph in [*compiled, graphs.configured, extended(), Subclass(graphs.typed)]:
    had = dict(vars(graph))
    saver = Saver(wall, Storage(build_serializer({"allowed_msgpack_modules": None}), Lists()))
    made = bind_graph(graph, saver, store, "graph")
    assert (made.checkpointer, made.store, made.name) == (saver, store, "graph"), made
    assert type(made) is type(graph)
    assert {name: one for name, one in vars(made).items() if name not in REPLACED} == {
        name: one for name, one in vars(graph).items() if name not in REPLACED
    }
    # LangGraph's `with_config` has left out the classes of the state, and nothing else is changed.
    assert {name for name, one in vars(graph).items() if had[name] is not one} <= {"_serde_allowlist"}
    assert graph.checkpointer is None
    # LangGraph tells the saver these classes at each call, and the run goes on with the saver itself.
    assert saver.with_allowlist(made._serde_allowlist) is saver
    assert saver.with_allowlist([("classes.values", "Plan")]) is saver

# Whoever writes to the database names classes of data, and nothing that does something when it is called.
found = Classes([], with_data=True)
assert all(("classes.values", name) in found for name in ("Plan", "Profile", "Phase", "Place"))
assert ("pydantic.types", "SecretStr") in found
for place in [("os", "system"), ("subprocess", "Popen"), ("builtins", "eval"), ("classes.values", "plan"), ("this", "s")]:
    assert place not in found, place
assert ("gx_runner.__main__", "_Runner") not in found
assert "this" not in sys.modules
# A package is there to be imported, and a node may do so later; a file beside the graphs may be a script.
assert ("lazily.models", "Late") in found
assert ("conformance", "Case") not in found
assert "conformance" not in sys.modules
found.add([subprocess.Popen])
assert ("subprocess", "Popen") in found

print("All copies are whole.")
