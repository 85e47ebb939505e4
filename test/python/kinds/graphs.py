"""A graph of each kind that LangGraph has: kinds of states, of steps from node to node, and of functions that make graphs."""

import contextlib
import functools
import operator
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config, get_store, get_stream_writer
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.managed import IsLastStep
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, RetryPolicy, Send, interrupt
from langgraph_sdk.runtime import ServerRuntime
from pydantic import BaseModel
from typing_extensions import TypedDict


class Said(TypedDict, total=False):
    given: Any
    said: Annotated[list[Any], operator.add]


def say(word: Any) -> Any:
    return lambda _: {"said": [word]}


# Kinds of states.


@dataclass
class Record:
    given: str = "nothing"
    said: Annotated[list[str], operator.add] = field(default_factory=list)


async def of_record(state: Record) -> dict[str, Any]:
    return {"said": [type(state).__name__, state.given]}


record = StateGraph(Record).add_node("of_record", of_record).add_edge(START, "of_record").compile()


class Inner(BaseModel):
    count: int


class Model(BaseModel):
    given: Inner
    said: Annotated[list[str], operator.add] = []


def of_model(state: Model) -> dict[str, Any]:
    return {"said": [type(state).__name__, type(state.given).__name__], "given": Inner(count=state.given.count + 1)}


model = StateGraph(Model).add_node("of_model", of_model).add_edge(START, "of_model").compile()


class Asked(TypedDict):
    given: str


class Answered(TypedDict):
    said: list[Any]


def hidden(state: Said) -> Any:
    return {"said": [state["given"]], "given": "hidden"}


narrow = StateGraph(Said, input_schema=Asked, output_schema=Answered).add_node("hidden", hidden).add_edge(START, "hidden").compile()

# Steps from node to node.


def send_on(state: Said) -> Command[Any]:
    return Command(update={"said": ["first"]}, goto=["second", Send("third", {"given": state["given"]})])


goes = (
    StateGraph(Said)
    .add_node("first", send_on, destinations=("second", "third"))
    .add_node("second", say("second"))
    .add_node("third", lambda state: {"said": [f"third {state['given']}"]})
    .add_edge(START, "first")
    .compile()
)


def to_parent(_: Said) -> Command[Any]:
    return Command(graph=Command.PARENT, update={"said": ["from within"]}, goto="behind")


within = StateGraph(Said).add_node("to_parent", to_parent).add_edge(START, "to_parent").compile()
leaves = (
    StateGraph(Said)
    .add_node("within", within, destinations=("behind",))
    .add_node("behind", say("behind"))
    .add_edge(START, "within")
    .compile()
)

attempts: dict[str, int] = {}


def fail_twice(state: Said, config: RunnableConfig) -> Said:
    run = str(config["metadata"]["run_id"])
    attempts[run] = attempts.get(run, 0) + 1
    if attempts[run] < 3:
        raise ConnectionError("not yet")
    return {"said": [attempts[run]]}


retries = (
    StateGraph(Said)
    .add_node("fail_twice", fail_twice, retry_policy=RetryPolicy(initial_interval=0.01, retry_on=ConnectionError))
    .add_edge(START, "fail_twice")
    .compile()
)


class Counted(Said, total=False):
    is_last: IsLastStep


managed = (
    StateGraph(Counted).add_node("look", lambda state: {"said": [state["is_last"]]}).add_edge(START, "look").compile()
)


def ask(name: str) -> Any:
    return lambda _: {"said": [f"{name} {interrupt(name)}"]}


# Each asks, at the same time.
two_ask = StateGraph(Said).add_node("one", ask("one")).add_node("two", ask("two")).add_edge(START, "one").add_edge(START, "two").compile()
stops_before = (
    StateGraph(Said)
    .add_node("one", say("one"))
    .add_node("two", say("two"))
    .add_edge(START, "one")
    .add_edge("one", "two")
    .compile(interrupt_before=["two"])
)

# A graph within a node, which remembers what it did in earlier runs of the thread.
remembering = StateGraph(Said).add_node("say", lambda state: {"said": [len(state.get("said", []))]}).add_edge(START, "say")


async def call_within(state: Said) -> Said:
    found = await own_memory.ainvoke({"given": state["given"]})
    return {"said": [found["said"]]}


own_memory = remembering.compile(checkpointer=True, name="own_memory")
calls_within = StateGraph(Said).add_node("call_within", call_within).add_edge(START, "call_within").compile()

# What a project compiles in for its own machine gives way to what the server has.
own_parts = StateGraph(Said).add_node("say", say("own")).add_edge(START, "say").compile(checkpointer=InMemorySaver(), store=InMemoryStore())

# What nodes may ask for.


async def look_around(_: Said) -> Said:
    store = get_store()
    await store.aput(("kinds",), "key", {"kept": 1})
    item = await store.aget(("kinds",), "key")
    configurable = get_config()["configurable"]
    get_stream_writer()("looks around")
    return {"said": [configurable["flavour"], bool(configurable["thread_id"]), item and item.value]}


looks = StateGraph(Said).add_node("look_around", look_around).add_edge(START, "look_around").compile()


class Context(TypedDict, total=False):
    flavour: str


def taste(_: Said, runtime: Runtime[Context]) -> Said:
    runtime.stream_writer("tastes")
    return {"said": [runtime.context["flavour"], runtime.store is not None]}


tastes = StateGraph(Said, context_schema=Context).add_node("taste", taste).add_edge(START, "taste").compile()

# The functional API.

done: list[str] = []


@task
def once(name: str) -> str:
    done.append(name)
    return f"{name} {done.count(name)}"


@entrypoint()
async def counts(given: str, *, previous: Any = None) -> Any:
    before = previous or 0
    return entrypoint.final(value={"before": before, "given": given}, save=before + 1)


@entrypoint()
def asks(name: str) -> Any:
    first = once(name).result()
    answer = interrupt({"first": first})
    return {"first": first, "answer": answer}


# Functions that make a graph, or a builder of one.


def made(word: Any) -> Any:
    return StateGraph(Said).add_node("say", say(word)).add_edge(START, "say")


def plain() -> Any:
    return made("plain")


async def of_config(config: RunnableConfig) -> Any:
    return made(config["configurable"]["flavour"]).compile()


def of_both(config: RunnableConfig, runtime: ServerRuntime) -> Any:
    return made([config["configurable"]["flavour"], runtime.access_context])


@dataclass
class Style:
    tone: str = "calm"


def of_class(runtime: ServerRuntime[Style]) -> Any:
    execution = runtime.execution_runtime
    if execution is None:
        return made(None)
    context = execution.context
    assert isinstance(context, Style)
    assert [context["tone"], context.get("other"), dict(context)] == [context.tone, None, {"tone": context.tone}]
    return made(context.tone)


def of_class_as_text(config: RunnableConfig, runtime: "ServerRuntime[Style]") -> Any:
    return of_class(runtime)


def of_both_the_other_way(runtime: "ServerRuntime[Context]", config: RunnableConfig) -> Any:
    return of_both(config, runtime)


@contextlib.contextmanager
def managed_plainly() -> Iterator[Any]:
    yield made("managed plainly")


def generated() -> Iterator[Any]:
    yield made("generated")


async def generated_async(config: RunnableConfig) -> AsyncIterator[Any]:
    yield made(["generated", config["configurable"]["flavour"]]).compile()


partial = functools.partial(made, "partial")


class Maker:
    """Makes graphs when it is called."""

    def __call__(self, config: RunnableConfig) -> Any:
        return made(["called", config["configurable"]["flavour"]])


called = Maker()


def defaults(config: RunnableConfig, word: str = "default", **_: Any) -> Any:
    return made(word)
