"""The graph of test/agent/revisions/graphs, in Python."""

from typing import Any, TypedDict

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


MODELS: dict[str, Any] = {"telling": Telling(), "text": TellingText(), "silent": FakeListChatModel(responses=["yes"])}


class State(TypedDict):
    ask: list[str]


def models(state: State) -> dict[str, Any]:
    for name in state["ask"]:
        MODELS[name].invoke("Is it?")
    return {}


inner = StateGraph(State).add_node("models", models).add_edge(START, "models").compile()

# Asks each of the models that its input names, in a graph within it.
graph = StateGraph(State).add_node("inner", inner).add_edge(START, "inner").compile()
