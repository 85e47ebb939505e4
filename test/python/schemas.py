"""Prints the schemas of graphs whose classes Pydantic does not take, and what the log says of them."""

import json
import sys
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

from gx_runner.running.describe import build_schemas
from langgraph.graph import START, StateGraph


# Pydantic makes no schema of it before Python 3.12, where it wants that of typing_extensions.
class Settings(TypedDict):
    model: str
    retries: NotRequired[int]


class Client:
    pass


@dataclass
class Connected:
    client: Client


class State(TypedDict):
    city: str


class Opened:
    """Stands for the states of a server, of which only the graph is needed."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph

    def open_graph(self, _args: Any, _access: str) -> "Opened":
        return self

    async def __aenter__(self) -> Any:
        return self._graph

    async def __aexit__(self, *_: object) -> None:
        return None


async def main() -> None:
    found = {}
    for name, context in {"settings": Settings, "connected": Connected, "connected again": Connected}.items():
        graph = StateGraph(State, context_schema=context).add_node("a", lambda _: {}).add_edge(START, "a").compile()
        found[name] = await build_schemas({"graph_id": name.split()[0]}, Opened(graph))
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    import asyncio

    asyncio.run(main())
