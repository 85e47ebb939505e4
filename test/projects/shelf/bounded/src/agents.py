from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import ModelFallbackMiddleware, ModelRetryMiddleware, ToolRetryMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph


class Local(BaseChatModel):
    """Asks for its tool, and answers behind it, without a network."""

    @property
    def _llm_type(self) -> str:
        return "local"

    def bind_tools(self, tools: Any, **kwargs: Any) -> "Local":
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        if any(message.type == "tool" for message in messages):
            message = AIMessage("done")
        else:
            message = AIMessage("", tool_calls=[{"id": "call-1", "name": "look", "args": {}}])
        return ChatResult(generations=[ChatGeneration(message=message)])


@tool
def look() -> str:
    """Looks."""
    return "found"


@tool("look")
async def look_by_model(config: RunnableConfig) -> str:
    """Looks, and asks a model itself."""
    return str((await Local().ainvoke("", config)).content)


RETRIES = {"max_retries": 3, "initial_delay": 0.001}

model_retry = create_agent(model=Local(), tools=[look], middleware=[ModelRetryMiddleware(**RETRIES)])
model_fallback = create_agent(model=Local(), tools=[look], middleware=[ModelFallbackMiddleware(Local(), Local())])
tool_retry = create_agent(model=Local(), tools=[look_by_model], middleware=[ToolRetryMiddleware(**RETRIES)])

insisting = Local().with_retry(stop_after_attempt=3).with_fallbacks([Local()])


async def ask(state: MessagesState) -> dict:
    return {"messages": [await insisting.ainvoke(state["messages"])]}


def tools(state: MessagesState) -> dict:
    return {"messages": [ToolMessage("found", tool_call_id="call-1")]}


runnables = (
    StateGraph(MessagesState)
    .add_node("first", ask)
    .add_node("tools", tools)
    .add_node("second", ask)
    .add_edge(START, "first")
    .add_edge("first", "tools")
    .add_edge("tools", "second")
    .add_edge("second", END)
    .compile()
)
