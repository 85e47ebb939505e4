"""Plays the model where no key is set. Its answers stream by words."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

# Slow enough to see the words stream.
SECONDS_PER_WORD = 0.03


def reply(messages: list[BaseMessage]) -> str:
    said = next((str(message.text) for message in reversed(messages) if message.type == "human"), "")
    return f'You said "{said}". I am a stand-in: put OPENAI_API_KEY into .env, and a model answers.'


class StandIn(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "stand-in"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(reply(messages)))])

    async def _astream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        for word in re.findall(r"\S+\s*", reply(messages)):
            await asyncio.sleep(SECONDS_PER_WORD)
            yield ChatGenerationChunk(message=AIMessageChunk(word))
