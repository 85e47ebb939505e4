import asyncio

from langchain_core.messages import HumanMessage

from agent import graph


def test_an_answer_follows_the_question() -> None:
    state = asyncio.run(graph.ainvoke({"messages": [HumanMessage("hello")]}))
    assert [message.type for message in state["messages"]] == ["human", "ai"]
    assert state["messages"][-1].content
