"""Agents whose tools wait for a person, by LangChain's own middleware, and a graph that says how it is answered."""

from typing import Any, Literal

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel, Field
from typing_extensions import TypedDict


class Caller(BaseChatModel):
    """A model that calls two tools, and then says what they answered."""

    @property
    def _llm_type(self) -> str:
        return "caller"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """The tools are known."""
        return self

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        answers = [str(message.content) for message in messages if isinstance(message, ToolMessage)]
        if answers:
            said = AIMessage(content=" | ".join(answers), id="end")
        else:
            calls = [
                {"name": "pay", "args": {"to": "Ann", "euros": 5}, "id": "1"},
                {"name": "forget", "args": {"what": "all"}, "id": "2"},
            ]
            said = AIMessage(content="", tool_calls=calls, id="calls")
        return ChatResult(generations=[ChatGeneration(message=said)])


@tool
def pay(to: str, euros: int) -> str:
    """Pays somebody."""
    return f"paid {euros} to {to}"


@tool
def forget(what: str) -> str:
    """Forgets something."""
    return f"forgot {what}"


def _make(mode: Literal["batched", "per_call"], rules: dict[str, Any]) -> Any:
    gate = HumanInTheLoopMiddleware(interrupt_on=rules, interrupt_mode=mode)
    return create_agent(Caller(), tools=[pay, forget], middleware=[gate])


BOTH: dict[str, Any] = {"pay": True, "forget": {"allowed_decisions": ["approve", "reject"]}}
per_call = _make("per_call", BOTH)
batched = _make("batched", BOTH)
one_decision = _make("per_call", {"pay": {"allowed_decisions": ["respond"]}})


class Rating(BaseModel):
    """How somebody liked it."""

    stars: int = Field(ge=1, le=5)
    why: str = ""


class State(TypedDict, total=False):
    rating: Any
    sure: Any


def _ask(state: State) -> State:
    rating = interrupt("How was it?", response_schema=Rating)
    return {"rating": rating.model_dump() if isinstance(rating, Rating) else rating}


def _check(state: State) -> State:
    return {"sure": interrupt("Are you sure?", response_schema=bool)}


typed = StateGraph(State).add_node("ask", _ask).add_node("check", _check).add_edge(START, "ask").add_edge("ask", "check").compile()
