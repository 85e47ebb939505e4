from typing import Any

from typing_extensions import TypedDict

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.prebuilt import create_react_agent


class Local(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "local"

    def bind_tools(self, tools: Any, **kwargs: Any) -> "Local":
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        last = messages[-1]
        if last.type == "tool":
            said = AIMessage(f"It is {last.content}")
        else:
            call = {"name": "add", "args": {"one": len(messages), "other": 40}, "id": f"call-{len(messages)}"}
            said = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=said)])


def add(one: int, other: int) -> int:
    """Adds two numbers."""
    return one + other


class Context(TypedDict, total=False):
    unit: str


graph = create_react_agent(Local(), tools=[add], context_schema=Context)
