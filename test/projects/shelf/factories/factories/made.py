from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from operator import add
from typing import Annotated

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph_sdk.runtime import ServerRuntime
from pydantic import BaseModel


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


@dataclass
class Step:
    size: Size
    by: str


@dataclass
class State:
    """A state of a dataclass, with classes inside."""

    size: Size = Size.SMALL
    steps: Annotated[list[Step], add] = field(default_factory=list)
    told: str = ""


class Context(BaseModel):
    team: str = "red"


def _of(name: str):
    def work(state: State, runtime: Runtime[Context]) -> dict:
        size = Size.LARGE if state.steps else Size.SMALL
        steps = [Step(size=size, by=name)]
        told = ", ".join(step.size.name for step in [*state.steps, *steps])
        return {"size": size, "steps": steps, "told": f"{runtime.context.team} {name}: {told}"}

    graph = StateGraph(State, context_schema=Context)
    graph.add_node("work", work)
    graph.add_edge(START, "work")
    graph.add_edge("work", END)
    return graph


def by_config(config: RunnableConfig):
    return _of(config.get("configurable", {}).get("name", "config")).compile()


def by_runtime(config: RunnableConfig, runtime: ServerRuntime[Context]):
    running = runtime.execution_runtime
    return _of("read" if running is None else "run").compile()


@asynccontextmanager
async def kept_open(config: RunnableConfig):
    yield _of("open").compile()


async def by_nothing():
    # Not compiled: the server does it.
    return _of("nothing")
