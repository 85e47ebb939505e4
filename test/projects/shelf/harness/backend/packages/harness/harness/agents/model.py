from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult


class Local(BaseChatModel):
    """Answers without a network."""

    name_of_model: str

    @property
    def _llm_type(self) -> str:
        return "local"

    def bind_tools(self, tools: Any, **kwargs: Any) -> "Local":
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        asked = sum(message.type == "human" for message in messages)
        said = AIMessage(f"{self.name_of_model} heard {asked}: {messages[-1].text}")
        return ChatResult(generations=[ChatGeneration(message=said)])
