"""The Python twin of chat.ts: a model that streams its answer token by token, without a network."""

from typing import Any

from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langgraph.graph import END, START, MessagesState, StateGraph

model = FakeListChatModel(responses=["I hear you well."])


async def answer(state: MessagesState) -> dict[str, Any]:
    return {"messages": [await model.ainvoke(state["messages"])]}


graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer").add_edge("answer", END).compile()
