"""The graphs of asks.ts, in Python."""

import asyncio
import os
from typing import Annotated, Any, TypedDict

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send, interrupt


def note(what: str, config: RunnableConfig) -> None:
    """Writes down what has happened besides the state: a call of a model, or an effect that must happen once."""
    if (file := os.environ.get("EFFECTS")) is not None:
        with open(file, "a") as effects:
            effects.write(f"{what} {config['configurable']['thread_id']}\n")


class Model(BaseChatModel):
    """A model each of whose calls costs $0.03, where its name is "dear"."""

    model: str = "dear"
    max_tokens: int = 10
    noted: Any = None

    @property
    def _llm_type(self) -> str:
        return "dear"

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        await asyncio.sleep(0.4 if self.model == "slow" else 0.02)
        return self._generate(messages)

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        note("call", self.noted)
        usage = {"input_tokens": 0, "output_tokens": 10, "total_tokens": 10}
        return ChatResult(generations=[ChatGeneration(message=AIMessage("yes", usage_metadata=usage))])


class State(TypedDict, total=False):
    kind: str
    calls: int
    model: str
    done: Annotated[int, lambda one, other: one + other]
    answers: Annotated[list[str], lambda one, other: [*one, *other]]


async def ask(state: State, config: RunnableConfig) -> str:
    model = Model(model=state.get("model") or "dear", noted=config)
    return str((await model.ainvoke("", config)).content)


async def answering(state: State, config: RunnableConfig) -> dict[str, Any]:
    return {"answers": [await ask(state, config)], "done": 1}


def answering_without_a_loop(state: State, config: RunnableConfig) -> dict[str, Any]:
    model = Model(model=state.get("model") or "dear", noted=config)
    return {"answers": [str(model.invoke("", config).content)], "done": 1}


@tool
async def asking(model: str, config: RunnableConfig) -> str:
    """Asks."""
    note("tool", config)
    return await ask({"model": model}, config)


async def insist(state: State, config: RunnableConfig) -> dict[str, Any]:
    """Asks with all that would make another answer of an error."""
    model, other = Model(model=state.get("model") or "dear", noted=config), Model(noted=config)
    insisting = model.with_retry(stop_after_attempt=2, wait_exponential_jitter=False).with_fallbacks([other])
    return {"answers": [str((await insisting.ainvoke("", config)).content)], "done": 1}


def first(_state: State, config: RunnableConfig) -> dict[str, Any]:
    note("first", config)
    return {"answers": ["first"]}


inner = (
    StateGraph(State)
    .add_node("first", first)
    .add_node("ask", answering)
    .add_edge(START, "first")
    .add_edge("first", "ask")
    .compile()
)


def effect(_state: State, config: RunnableConfig) -> dict[str, Any]:
    note("effect", config)
    return {}


async def slow(_state: State, config: RunnableConfig) -> dict[str, Any]:
    await asyncio.sleep(0.3)
    note("slow", config)
    return {"answers": ["slow"]}


async def by_tool(state: State, config: RunnableConfig) -> dict[str, Any]:
    return {"answers": [str(await asking.ainvoke({"model": state.get("model") or ""}, config))], "done": 1}


async def subgraph(state: State, config: RunnableConfig) -> dict[str, Any]:
    answers = (await inner.ainvoke({**state, "answers": [], "done": 0}, config))["answers"]
    return {"answers": answers, "done": 1}


async def question(state: State, config: RunnableConfig) -> dict[str, Any]:
    answer = await ask(state, config)
    word = interrupt({"question": "Which word?"})
    return {"answers": [answer, word], "done": 1}


def go_on(state: State) -> str:
    kind = state["kind"]
    return END if state.get("done", 0) >= state["calls"] else "plain" if kind in ("send", "beside") else kind


def begin(state: State) -> Any:
    if state["kind"] == "send":
        return [Send("branch", state) for _ in range(state["calls"])]
    return ["plain", "slow"] if state["kind"] == "beside" else go_on(state)


builder = StateGraph(State)
for name, node in {
    "effect": effect,
    "plain": answering,
    "branch": answering,
    "sync": answering_without_a_loop,
    "slow": slow,
    "tool": by_tool,
    "insist": insist,
    "subgraph": subgraph,
    "question": question,
}.items():
    builder.add_node(name, node)
builder.add_edge(START, "effect").add_conditional_edges("effect", begin)
for name in ("plain", "sync", "tool", "insist", "subgraph", "question"):
    builder.add_conditional_edges(name, go_on)
graph = builder.compile()

own = StateGraph(State).add_node("within", inner).add_edge(START, "within").compile()
