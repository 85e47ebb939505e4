"""Graphs that functions make: of the functional API, of a configuration, of a runtime; and what they may use."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph_sdk.runtime import ServerRuntime
from pydantic import BaseModel
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    given: Any
    made: Any


@task
async def write(topic: str) -> str:
    return f"An essay about {topic}"


@entrypoint()
async def essay(topic: str) -> str:
    return await write(topic)


def _answering(made: Any) -> Any:
    return StateGraph(State).add_node("answer", lambda _: {"made": made}).add_edge(START, "answer")


def from_config(config: RunnableConfig) -> Any:
    return _answering(config["configurable"].get("flavour", "none"))


events: list[str] = []


@contextlib.asynccontextmanager
async def opened() -> AsyncIterator[Any]:
    events.append("opened")
    yield _answering(list(events)).compile()
    events.append("closed")


async def from_runtime(runtime: ServerRuntime) -> Any:
    execution = runtime.execution_runtime
    return _answering({"access": runtime.access_context, "context": execution and execution.context})


async def remember(state: State, *, store: BaseStore) -> State:
    namespace = ("python", "tests")
    await store.aput(namespace, "k", {"kept": state["given"]})
    found = await store.asearch(namespace, limit=5)
    item = await store.aget(namespace, "k")
    names = await store.alist_namespaces(prefix=("python",))
    return {"made": {"found": [one.value for one in found], "item": item and item.value, "names": names}}


remembers = StateGraph(State).add_node("remember", remember).add_edge(START, "remember").compile()


@dataclass
class Context:
    flavour: str = "none"


async def taste(state: State, runtime: Runtime[Context]) -> State:
    # LangGraph before 1.1 has no such facts.
    server = getattr(runtime, "server_info", None)
    user = server and server.user
    return {"made": {"flavour": runtime.context.flavour, "user": user and user.identity}}


contextual = StateGraph(State, context_schema=Context).add_node("taste", taste).add_edge(START, "taste").compile()


class Strict(BaseModel):
    user_id: str
    flavour: str = "none"


async def name_user(state: State, runtime: Runtime[Strict]) -> State:
    return {"made": [runtime.context.user_id, runtime.context.flavour]}


strict = StateGraph(State, context_schema=Strict).add_node("name_user", name_user).add_edge(START, "name_user").compile()
