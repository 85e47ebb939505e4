"""LangGraph's RemoteGraph: a graph of the server as a graph of another program."""

import uuid
from typing import Any

from langgraph.graph import START, MessagesState, StateGraph
from langgraph.pregel.remote import RemoteException, RemoteGraph
from langgraph.types import Command

from clients import ASKING, QUESTION, case


def _on_thread() -> Any:
    return {"configurable": {"thread_id": str(uuid.uuid4())}}


@case
async def remote_invoked(url: str) -> Any:
    """Invokes graphs, with a thread and without, async and sync, and one that fails."""
    config = _on_thread()
    given = {"question": "q"}
    echo = RemoteGraph("echo", url=url)
    answers = [await echo.ainvoke(given), await echo.ainvoke(given, config)]
    try:
        await RemoteGraph("fails", url=url).ainvoke(given)
        error: Any = None
    except RemoteException as raised:
        error = raised.args[0]
    return {"answers": answers, "state": (await echo.aget_state(config)).values, "error": error}


@case
def plain_remote_invoked(url: str) -> Any:
    echo = RemoteGraph("echo", url=url)
    return [echo.invoke({"question": "q"}), list(echo.stream({"question": "q"}, stream_mode="updates"))]


@case
async def remote_streams(url: str) -> Any:
    """Streams in several modes, token by token, with the events of subgraphs, and resumes by a command."""
    config, agent = _on_thread(), RemoteGraph("agent", url=url)
    tokens = []
    async for message, metadata in agent.astream(ASKING, config, stream_mode="messages"):
        if metadata["langgraph_node"] == "stream_message":
            tokens.append(message["content"])
    waiting = await agent.aget_state(config)
    rest = [part async for part in agent.astream(Command(resume="yes"), config, stream_mode="updates", subgraphs=True)]
    return {
        "tokens": tokens,
        "next": list(waiting.next),
        "asked": [one.value for one in waiting.tasks[0].interrupts],
        "rest": [[[place.split(":")[0] for place in namespace], list(data)] for namespace, data in rest],
    }


@case
async def remote_states(url: str) -> Any:
    """Reads a history, writes a state, and draws the graph."""
    config, agent = _on_thread(), RemoteGraph("agent", url=url)
    await agent.ainvoke(ASKING, config)
    history = [snapshot.metadata["step"] async for snapshot in agent.aget_state_history(config)]
    updated = await agent.aupdate_state(config, {"value": "updated"}, as_node="ask_human")
    state = await agent.aget_state(config)
    drawn = await agent.aget_graph()
    same = updated["configurable"]["checkpoint_id"] == state.config["configurable"]["checkpoint_id"]
    return {
        "history": history,
        "value": state.values["value"],
        "next": list(state.next),
        "same": same,
        "nodes": sorted(drawn.nodes),
    }


@case
async def remote_events(url: str) -> Any:
    """Streams by event streaming, as a graph of its own program."""
    agent = RemoteGraph("tools_agent", url=url)
    async with await agent.astream_events(QUESTION, version="v3") as run:
        updates = [list(update) async for update in run.extensions["updates"]]
        output = await run.output()
    return {"updates": updates, "last": output["messages"][-1]["content"]}


@case
def plain_remote_events(url: str) -> Any:
    with RemoteGraph("tools_agent", url=url).stream_events(QUESTION, version="v3") as run:
        names = [name for name, _ in run.interleave("values", "tool_calls")]
        return {"names": sorted(set(names)), "last": run.output["messages"][-1]["content"]}


@case
async def remote_within(url: str) -> Any:
    """Uses a graph of the server as a node."""

    builder = StateGraph(MessagesState).add_node("far", RemoteGraph("tools_agent", url=url, name="far"))
    graph = builder.add_edge(START, "far").compile()
    result = await graph.ainvoke(QUESTION)
    return [message.type for message in result["messages"]]
