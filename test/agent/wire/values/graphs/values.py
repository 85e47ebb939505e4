"""The Python twins of values.ts."""

import dataclasses
from typing import Annotated, Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from langgraph_sdk.runtime import ServerRuntime
from pydantic import BaseModel, Field
from typing_extensions import TypedDict


def _answer(state: MessagesState) -> Any:
    text = f"seen {' '.join(str(one.content) for one in state['messages'])}"
    blocks: Any = [{"type": "text", "text": text}, {"type": "reasoning", "reasoning": "because"}]
    return {"messages": [AIMessage(content_blocks=blocks)]}


blocks = StateGraph(MessagesState).add_node("answer", _answer).add_edge(START, "answer").add_edge("answer", END).compile()


class Odd(TypedDict, total=False):
    kind: str
    many: Any
    list: list[Any]


def _fill(state: Odd) -> Any:
    return {"list": [1, {"big": object()}]} if state.get("kind") == "list" else {"many": {"big": object()}}


unstored = (
    StateGraph(Odd)
    .add_node("fill", _fill)
    .add_node("after", lambda _: {"kind": "after"})
    .add_edge(START, "fill")
    .add_edge("fill", "after")
    .add_edge("after", END)
    .compile()
)


class Log(TypedDict, total=False):
    log: Annotated[list[str], lambda all, more: [*all, *more]]


inner = (
    StateGraph(Log)
    .add_node("one", lambda _: {"log": ["one"]})
    .add_node("two", lambda _: {"log": [f"two {interrupt('go on?')}"]})
    .add_edge(START, "one")
    .add_edge("one", "two")
    .add_edge("two", END)
    .compile()
)
outer = StateGraph(Log).add_node("inner", inner).add_edge(START, "inner").add_edge("inner", END).compile()


class Count(BaseModel):
    count: int = Field(default=0, ge=0)


refusing = (
    StateGraph(Count)
    .add_node("step", lambda state: {"count": -5 if state.count == 41 else state.count + 1})
    .add_node("after", lambda _: {})
    .add_edge(START, "step")
    .add_edge("step", "after")
    .add_edge("after", END)
    .compile()
)
holding = StateGraph(Count).add_node("within", refusing).add_edge(START, "within").add_edge("within", END).compile()


class Seen(TypedDict, total=False):
    seen: str


@dataclasses.dataclass
class Context:
    token: str = ""
    tone: str | None = None


def _look(_: Seen, runtime: Runtime[Context], config: RunnableConfig) -> Any:
    context = runtime.context
    answer = interrupt("go?")
    return {"seen": f"{len(context.token)} {context.tone} {len(config['configurable'].get('token', ''))} {answer}"}


secret = StateGraph(Seen, context_schema=Context).add_node("look", _look).add_edge(START, "look").add_edge("look", END).compile()


class Made(TypedDict, total=False):
    made: Any


def made(runtime: ServerRuntime) -> Any:
    told = {"access": runtime.access_context, "context": runtime.execution_runtime and runtime.execution_runtime.context}
    return (
        StateGraph(Made)
        .add_node("tell", lambda _: {"made": told})
        .add_node(runtime.access_context.replace(".", "-"), lambda _: {})
        .add_edge(START, "tell")
        .add_edge("tell", runtime.access_context.replace(".", "-"))
        .compile()
    )
