"""OpenAI's model where its key is set. Another maker's is as short: langchain-anthropic, langchain-ollama and others."""

import os

from langchain_core.language_models import BaseChatModel

from stand_in import StandIn


def _model() -> BaseChatModel:
    if not os.environ.get("OPENAI_API_KEY"):
        return StandIn()
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model=os.environ.get("OPENAI_MODEL", "gpt-5-mini"))


model = _model()
