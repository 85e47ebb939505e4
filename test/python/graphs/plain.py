"""Graphs of plain nodes: they echo, count, fail, wait, block, and send work to copies of a node."""

import asyncio
import datetime
import decimal
import enum
import logging
import operator
import os
import sys
import time
from dataclasses import dataclass
from typing import Annotated, Any

from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

log = logging.getLogger("graphs.plain")


class Question(TypedDict, total=False):
    question: str
    answer: str


async def answer(state: Question) -> Question:
    log.info("answers a question")
    print("prints a line")
    print("complains", file=sys.stderr)
    return {"answer": f"echo: {state['question']}"}


echo = StateGraph(Question).add_node("answer", answer).add_edge(START, "answer").add_edge("answer", END).compile()


class Count(TypedDict, total=False):
    to: int
    pause: float
    done: int
    pids: Annotated[list[int], operator.add]


async def step(state: Count) -> Count:
    await asyncio.sleep(state.get("pause", 0))
    return {"done": state.get("done", 0) + 1, "pids": [os.getpid()]}


def further(state: Count) -> str:
    return "step" if state["done"] < state["to"] else END


# A builder, which the runner compiles.
counter = StateGraph(Count).add_node("step", step).add_edge(START, "step").add_conditional_edges("step", further, ["step", END])


def fail(state: Question) -> Question:
    raise ValueError("The node fails.")


fails = StateGraph(Question).add_node("fail", fail).add_edge(START, "fail").compile()


async def wait(state: Question) -> Question:
    await asyncio.sleep(60)
    return {"answer": "too late"}


slow = StateGraph(Question).add_node("wait", wait).add_edge(START, "wait").compile()


def block(state: Count) -> Count:
    time.sleep(state["pause"])
    return {"done": 1}


blocks = StateGraph(Count).add_node("block", block).add_edge(START, "block").compile()


class Words(TypedDict, total=False):
    words: list[str]
    lengths: Annotated[list[int], operator.add]


def to_each(state: Words) -> list[Send]:
    return [Send("measure", {"word": word}) for word in state["words"]]


async def measure(state: dict[str, Any]) -> Words:
    return {"lengths": [len(state["word"])]}


spread = StateGraph(Words).add_node("measure", measure).add_conditional_edges(START, to_each, ["measure"]).compile()


async def leave(state: Question) -> Question:
    raise SystemExit(3)


quits = StateGraph(Question).add_node("leave", leave).add_edge(START, "leave").compile()


class Anything(TypedDict, total=False):
    value: Any


class Mood(enum.Enum):
    GOOD = "good"


async def make_odd(state: Anything) -> Anything:
    keys = {(1, "a"): "tuple", frozenset({2}): "set", Mood.GOOD: "enum"}
    get_stream_writer()({"large": 2**70, "half": "a\ud800b", "keys": keys})
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    values = {"set": {1}, "bytes": b"ab", "decimal": decimal.Decimal("1.5"), "moment": moment, "nan": float("nan")}
    return {"value": {**values, 7: "seven", "pair": (1, 2)}}


odd = StateGraph(Anything).add_node("make_odd", make_odd).add_edge(START, "make_odd").compile()


@dataclass
class Profile:
    name: str


@dataclass
class Unnamed:
    name: str


class Typed(BaseModel):
    profile: Profile | None = None
    anything: Any = None
    kinds: list[str] = []


async def look(state: Typed) -> dict[str, Any]:
    kinds = [type(state).__name__, type(state.profile).__name__, type(state.anything).__name__]
    return {"profile": Profile("p"), "anything": Unnamed("u"), "kinds": kinds}


typed = StateGraph(Typed).add_node("look", look).add_edge(START, "look").compile()


class Client:
    """Pydantic makes no schema of such a class."""


class Connected(TypedDict, total=False):
    client: Client
    city: str


class City(TypedDict, total=False):
    city: str


connected = StateGraph(Connected, output_schema=City).add_node("go", lambda _: {}).add_edge(START, "go").compile()


class Bounded(BaseModel):
    count: int = Field(default=0, ge=0)
    name: str = "x"


async def count(state: Bounded) -> dict[str, Any]:
    return {"count": -5 if state.name == "bad" else state.count + 1}


bounded = (
    StateGraph(Bounded)
    .add_node("count_up", count)
    .add_node("rename", lambda _: {"name": "after"})
    .add_edge(START, "count_up")
    .add_edge("count_up", "rename")
    .add_edge("rename", END)
    .compile()
)


class Opaque:
    """Nothing but pickle writes it."""

    def __init__(self, number: int) -> None:
        self.number = number


class Kept(TypedDict, total=False):
    value: Any
    number: int


async def keep(state: Kept) -> Kept:
    number = state["value"].number + 1 if "value" in state else 1
    return {"value": Opaque(number), "number": number}


pickles = StateGraph(Kept).add_node("keep", keep).add_edge(START, "keep").compile()


async def hold(state: Count) -> Count:
    time.sleep(state["pause"])
    return {"done": 1}


# It blocks the loop, as an async node that waits without awaiting does.
holds = StateGraph(Count).add_node("hold", hold).add_edge(START, "hold").compile()
