"""Graphs of plain nodes: they echo, count, fail, wait, block, and send work to copies of a node."""

import asyncio
import logging
import operator
import os
import time
from typing import Annotated, Any

from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from typing_extensions import TypedDict

log = logging.getLogger("graphs.plain")


class Question(TypedDict, total=False):
    question: str
    answer: str


async def answer(state: Question) -> Question:
    log.info("answers a question")
    print("prints a line")
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
