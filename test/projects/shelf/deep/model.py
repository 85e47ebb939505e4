"""A model without a network: it asks its helper first, and then answers with what the helper said."""

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult


class Local(BaseChatModel):
    helps: bool = False

    @property
    def _llm_type(self) -> str:
        return "local"

    def bind_tools(self, tools: Any, **kwargs: Any) -> "Local":
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages))])

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        last = messages[-1]
        if self.helps:
            return AIMessage(f"found {last.text}")
        if last.type == "tool":
            return AIMessage(f"The helper {last.text}")
        ask = {"description": last.text, "subagent_type": "finder"}
        return AIMessage("", tool_calls=[{"name": "task", "args": ask, "id": f"call-{len(messages)}"}])
