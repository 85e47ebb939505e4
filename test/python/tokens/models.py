"""The graph of test/agent/revisions/graphs, in Python."""

import contextlib
from typing import Any, TypedDict

from langchain_core.caches import InMemoryCache
from langchain_core.callbacks.manager import dispatch_custom_event
from langchain_core.language_models import BaseChatModel, BaseLLM, FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult, Generation, LLMResult
from langgraph.graph import START, StateGraph


class Telling(BaseChatModel):
    """A model that says how many tokens its answers have used."""

    @property
    def _llm_type(self) -> str:
        return "telling"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        usage = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
        return ChatResult(generations=[ChatGeneration(message=AIMessage("yes", usage_metadata=usage))])


class TellingText(BaseLLM):
    """One that writes no messages, and tells them beside its text."""

    @property
    def _llm_type(self) -> str:
        return "telling-text"

    def _generate(self, prompts: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> LLMResult:
        usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
        return LLMResult(generations=[[Generation(text="yes")]], llm_output={"token_usage": usage})


class Failing(Telling):
    """One that fails."""

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        raise ConnectionError("The provider is overloaded.")


MODELS: dict[str, Any] = {
    "telling": Telling(),
    "text": TellingText(),
    "silent": FakeListChatModel(responses=["yes"]),
    "cached": Telling(cache=InMemoryCache()),
    "failing": Failing(),
}
# The usage of a call that LangChain knows nothing of, as a graph reports it.
REPORTED = {"model": "own-model", "provider": "own", "input_tokens": 25, "output_tokens": 5}


class State(TypedDict):
    ask: list[str]


def models(state: State) -> dict[str, Any]:
    for name in state["ask"]:
        if name == "own":
            dispatch_custom_event("gx.usage", REPORTED)
            continue
        with contextlib.suppress(ConnectionError):
            MODELS[name].invoke("Is it?")
    return {}


inner = StateGraph(State).add_node("models", models).add_edge(START, "models").compile()

# Asks each of the models that its input names, in a graph within it.
graph = StateGraph(State).add_node("inner", inner).add_edge(START, "inner").compile()
