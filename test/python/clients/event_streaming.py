"""Event streaming by the async client: `client.threads.stream`, by server-sent events and by WebSocket."""

import asyncio
import uuid
from typing import Any

from langgraph_sdk import get_client

from clients import ASKING, QUESTION, case
from clients.proxy import Proxy

KINDS = ("sse", "websocket")


async def of_both(play: Any, url: str) -> dict[str, Any]:
    """Plays a case by each transport."""
    results = {}
    for kind in KINDS:
        async with get_client(url=url) as client:
            results[kind] = await play(client, kind)
    return results


async def until(condition: Any) -> None:
    while not condition():
        await asyncio.sleep(0.002)


async def every(items: Any) -> list[Any]:
    return [item async for item in items]


async def asked_and_answered(thread: Any) -> None:
    """Starts a run that asks, and answers.

    The client ends its readers as soon as it sees a question, whatever is still on its way to them. So those who want
    all read from here on.
    """
    await thread.run.start(input=ASKING)
    await until(lambda: thread.interrupted)
    await thread.run.respond("yes")


@case
async def messages(url: str) -> Any:
    """Hears the tokens of a model as they come, and then the state."""

    async def play(client: Any, kind: str) -> Any:
        async with client.threads.stream(assistant_id="agent", transport=kind) as thread:
            await asked_and_answered(thread)
            # The parts of a message come while the next message is asked for.
            tokens = [asyncio.create_task(every(message.text)) async for message in thread.messages]
            return await asyncio.gather(*tokens)

    return await of_both(play, url)


@case
async def answers_at_once(url: str) -> Any:
    """Answers a question as soon as it is seen, while the run that asks still ends."""

    async def play(client: Any, kind: str) -> Any:
        async with client.threads.stream(assistant_id="agent", transport=kind) as thread:
            await thread.run.start(input=ASKING)
            await until(lambda: thread.interrupted)
            [asked] = thread.interrupts
            await thread.run.respond("yes")
            output = await thread.output
            ends = {"items": output["items"], "said": output["messages"][-2]["content"], "still": thread.interrupted}
            return {"namespace": asked["namespace"], **ends}

    return await of_both(play, url)


@case
async def values(url: str) -> Any:
    async def play(client: Any, kind: str) -> Any:
        async with client.threads.stream(assistant_id="tools_agent", transport=kind) as thread:
            await thread.run.start(input=QUESTION)
            states, output = await asyncio.gather(every(thread.values), thread.output)
            # The first is the state that the thread has when the reader begins.
            counts = [len(state["messages"]) for state in states[1:]]
            return {"counts": counts, "last": output["messages"][-1]["content"]}

    return await of_both(play, url)


@case
async def tools(url: str) -> Any:
    async def play(client: Any, kind: str) -> Any:
        async with client.threads.stream(assistant_id="tools_agent", transport=kind) as thread:
            await thread.run.start(input=QUESTION)
            calls = await every(thread.tool_calls)
            return [{"name": call.name, "input": call.input, "output": (await call.output)["content"]} for call in calls]

    return await of_both(play, url)


@case
async def subgraphs(url: str) -> Any:
    """Hears a subagent: its name, its messages, and how it ended."""

    async def play(client: Any, kind: str) -> Any:
        async with client.threads.stream(assistant_id="deep_agent", transport=kind) as thread:
            await thread.run.start(input=QUESTION)
            found = await every(thread.subgraphs)
            heard = [await every(handle.messages) for handle in found]
            texts = [[await message.text for message in messages] for messages in heard]
            return {
                "graphs": [handle.graph_name for handle in found],
                "ends": [handle.status for handle in found],
                "texts": texts,
            }

    return await of_both(play, url)


@case
async def extensions(url: str) -> Any:
    async def play(client: Any, kind: str) -> Any:
        async with client.threads.stream(assistant_id="agent", transport=kind) as thread:
            await asked_and_answered(thread)
            said = await every(thread.extensions["progress"])
            return [f"{one['step']} {one['phase']}" for one in said]

    return await of_both(play, url)


@case
async def interleaved(url: str) -> Any:
    async def play(client: Any, kind: str) -> Any:
        async with client.threads.stream(assistant_id="tools_agent", transport=kind) as thread:
            await thread.run.start(input=QUESTION)
            return [name async for name, _ in thread.interleave_projections(["values", "tool_calls", "tasks"])]

    return await of_both(play, url)


@case
async def cancelled(url: str) -> Any:
    """Cancels a run, and hears that it was interrupted. The thread takes another run."""

    async def play(client: Any, kind: str) -> Any:
        async with client.threads.stream(assistant_id="slow", transport=kind) as thread:
            started = await thread.run.start(input={"question": "q"})
            heard = []
            async for event in thread.subscribe(["lifecycle"]):
                heard.append(event["params"]["data"]["event"])
                if heard[-1] == "running":
                    await client.runs.cancel(thread.thread_id, started["run_id"], wait=True)
                if heard[-1] == "interrupted":
                    break
            run = await client.runs.get(thread.thread_id, started["run_id"])
        async with client.threads.stream(thread.thread_id, assistant_id="echo", transport=kind) as again:
            await again.run.start(input={"question": "again"})
            return {"heard": heard, "status": run["status"], "again": (await again.output)["answer"]}

    return await of_both(play, url)


@case
async def failing(url: str) -> Any:
    async def play(client: Any, kind: str) -> Any:
        async with client.threads.stream(assistant_id="fails", transport=kind) as thread:
            await thread.run.start(input={"question": "q"})
            try:
                return await thread.output
            except RuntimeError as error:
                return str(error)

    return await of_both(play, url)


@case
async def broken_connections(url: str) -> Any:
    """Hears each state once, although all connections break several times."""

    async def play(_: Any, kind: str) -> Any:
        async with (
            Proxy(url) as proxy,
            get_client(url=proxy.url) as client,
            client.threads.stream(assistant_id="counter", transport=kind) as thread,
        ):
            await thread.run.start(input={"to": 12, "pause": 0.15})
            done, broken = [], 0
            async for state in thread.values:
                done.append(state.get("done"))
                if state.get("done") in (2, 6):
                    broken += proxy.cut()
            output = await thread.output
        counted = [count for count in done if count]
        return {"counted": counted, "output": output["done"], "broken": broken > 1}

    return await of_both(play, url)


@case
async def rejoined(url: str) -> Any:
    """Leaves a run in its middle. A second reader of the thread gets all of its states."""

    async def play(client: Any, kind: str) -> Any:
        thread_id = str(uuid.uuid4())
        async with client.threads.stream(thread_id, assistant_id="counter", transport=kind) as thread:
            await thread.run.start(input={"to": 8, "pause": 0.1})
            async for event in thread.subscribe(["values"]):
                if event["params"]["data"].get("done") == 2:
                    break
        async with client.threads.stream(thread_id, assistant_id="counter", transport=kind) as again:
            seen = [event["params"]["data"].get("done") async for event in again.subscribe(["values"])]
            return {"seen": seen, "output": (await again.output)["done"]}

    return await of_both(play, url)
