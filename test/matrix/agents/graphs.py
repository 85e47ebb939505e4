"""The Python twin of graphs.js: agents as their makers' packages build them, with a subagent each."""

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langgraph.stream import StreamChannel, StreamTransformer


class ScriptedModel(BaseChatModel):
    """Calls one tool first if it has a call to make. Once the tool has answered, it says its text word by word."""

    # Name and arguments of a tool. The call's id is `call-<name>`.
    call: dict[str, Any] | None = None
    text: str

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> "ScriptedModel":  # type: ignore[override]
        """Ignores the tools: the model records what it calls."""
        return self

    def _parts(self, messages: list[BaseMessage]) -> list[AIMessageChunk]:
        if self.call is not None and not isinstance(messages[-1], ToolMessage):
            args = json.dumps(self.call["args"])
            call = tool_call_chunk(name=self.call["name"], args=args, id=f"call-{self.call['name']}", index=0)
            return [AIMessageChunk("", tool_call_chunks=[call])]
        words = self.text.split(" ")
        return [AIMessageChunk(word if at == 0 else f" {word}") for at, word in enumerate(words)]

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        whole, *more = self._parts(messages)
        for part in more:
            whole += part
        message = AIMessage(whole.content, tool_calls=whole.tool_calls)
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for part in self._parts(messages):
            yield ChatGenerationChunk(message=part)


@tool
def weather(city: str) -> str:
    """Tells the weather of a city."""
    return f"It rains in {city}."


# An agent that a tool of another agent runs.
forecaster = create_agent(
    ScriptedModel(call={"name": "weather", "args": {"city": "Kyoto"}}, text="Take an umbrella."),
    [weather],
    name="forecaster",
)


@tool
async def forecast(city: str) -> str:
    """Asks the forecaster."""
    answer = await forecaster.ainvoke({"messages": [("user", f"How is it in {city}?")]})
    return str(answer["messages"][-1].text)


class Calls(StreamTransformer):
    """Reports to clients which tools were called, on a channel of its own."""

    required_stream_modes = ("tools",)

    def init(self) -> dict[str, Any]:
        """Opens the channel."""
        self._calls: StreamChannel[str] = StreamChannel("calls")
        return {"calls": self._calls}

    def process(self, event: Any) -> bool:
        """Reports a call that begins."""
        if event["method"] == "tools" and event["params"]["data"]["event"] == "tool-started":
            self._calls.push(event["params"]["data"]["tool_name"])
        return True


agent = create_agent(
    ScriptedModel(call={"name": "forecast", "args": {"city": "Kyoto"}}, text="Bring an umbrella to Kyoto."),
    [forecast],
    name="planner",
    transformers=[Calls],
)

deep = create_deep_agent(
    ScriptedModel(
        call={"name": "task", "args": {"description": "Where does tea grow?", "subagent_type": "researcher"}},
        text="Tea comes from Asia.",
    ),
    name="chief",
    subagents=[
        {
            "name": "researcher",
            "description": "Finds things out.",
            "system_prompt": "You find things out.",
            "model": ScriptedModel(text="Tea grows in Asia."),
            "tools": [],
        }
    ],
)
