"""The Python twins: graphs that read their context, whose fields have defaults, or must be given, or are not described."""

import dataclasses
from dataclasses import dataclass
from typing import Any

from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    said: str
    messages: list[Any]
    first: Any
    second: Any


@dataclass
class Style:
    tone: str = "calm"
    length: int = 4


class Named(BaseModel):
    user_id: str
    tone: str = "calm"


def _shown(context: Any) -> Any:
    if isinstance(context, BaseModel):
        return context.model_dump()
    return dataclasses.asdict(context) if dataclasses.is_dataclass(context) else context


def ask(state: State, runtime: Runtime[Any]) -> State:
    return {"first": _shown(runtime.context)}


def answer(state: State, runtime: Runtime[Any]) -> State:
    interrupt("go?")
    return {"second": _shown(runtime.context)}


def _reading(context: Any) -> Any:
    builder = StateGraph(State, context_schema=context).add_node("ask", ask).add_node("answer", answer)
    return builder.add_edge(START, "ask").add_edge("ask", "answer").compile()


styled = _reading(Style)
named = _reading(Named)
plain = _reading(None)


def made() -> Any:
    return _reading(Style)
