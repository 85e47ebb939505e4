"""The Python twin of asking.ts."""

import operator
from collections.abc import Callable
from typing import Annotated, Any

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    said: Annotated[list[str], operator.add]
    seats: int


def ask(question: str) -> Callable[[State], State]:
    return lambda _: {"said": [interrupt(question)]}


inner_graph = (
    StateGraph(State)
    .add_node("think", lambda _: {"said": ["thought"]})
    .add_node("first", ask("First?"))
    .add_node("second", ask("Second?"))
    .add_edge(START, "think")
    .add_edge("think", "first")
    .add_edge("first", "second")
    .add_edge("second", END)
    .compile()
)


async def inner(state: State) -> dict[str, Any]:
    answer = await inner_graph.ainvoke({"said": [], "seats": state.get("seats")})
    return {"said": answer["said"]}


# Asks twice, in a graph below it.
below = (
    StateGraph(State)
    .add_node("begin", lambda _: {"said": ["begun"]})
    .add_node("inner", inner)
    .add_edge(START, "begin")
    .add_edge("begin", "inner")
    .add_edge("inner", END)
    .compile()
)

# Asks two things at once.
both = (
    StateGraph(State)
    .add_node("left", ask("Left?"))
    .add_node("right", ask("Right?"))
    .add_edge(START, "left")
    .add_edge(START, "right")
    .add_edge("left", END)
    .add_edge("right", END)
    .compile()
)


def order(state: State) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"seats": {"type": "integer"}}, "required": ["seats"]}
    return interrupt({"name": "table", "message": "How many seats?", "requestedSchema": schema})


# Brings its own form, with a name.
form = StateGraph(State).add_node("order", order).add_edge(START, "order").add_edge("order", END).compile()

# Stops on the way without a question.
paused = (
    StateGraph(State)
    .add_node("one", lambda _: {"said": ["one"]})
    .add_node("two", lambda _: {"said": ["two"]})
    .add_edge(START, "one")
    .add_edge("one", "two")
    .add_edge("two", END)
    .compile(interrupt_before=["two"])
)
