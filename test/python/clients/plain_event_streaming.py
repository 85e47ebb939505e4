"""The same by the sync client, whose readers are threads."""

import time
from collections.abc import Callable
from typing import Any

from langgraph_sdk import get_sync_client

from clients import ASKING, QUESTION, case

KINDS = ("sse", "websocket")


def asked_and_answered(thread: Any) -> None:
    """Starts a run that asks, and answers as soon as the question is seen, while the run still ends."""
    thread.run.start(input=ASKING)
    while not thread.interrupted:
        time.sleep(0.002)
    thread.run.respond("yes")


def of_both(play: Callable[[Any, str], Any], url: str) -> dict[str, Any]:
    with get_sync_client(url=url) as client:
        return {kind: play(client, kind) for kind in KINDS}


@case
def plain_messages(url: str) -> Any:
    def play(client: Any, kind: str) -> Any:
        with client.threads.stream(assistant_id="agent", transport=kind) as thread:
            asked_and_answered(thread)
            return [list(message.text) for message in list(thread.messages)]

    return of_both(play, url)


@case
def plain_answers_at_once(url: str) -> Any:
    def play(client: Any, kind: str) -> Any:
        with client.threads.stream(assistant_id="agent", transport=kind) as thread:
            asked_and_answered(thread)
            return thread.output["items"]

    return of_both(play, url)


@case
def plain_values(url: str) -> Any:
    def play(client: Any, kind: str) -> Any:
        with client.threads.stream(assistant_id="tools_agent", transport=kind) as thread:
            thread.run.start(input=QUESTION)
            counts = [len(state["messages"]) for state in list(thread.values)[1:]]
            return {"counts": counts, "last": thread.output["messages"][-1]["content"]}

    return of_both(play, url)


@case
def plain_tools(url: str) -> Any:
    def play(client: Any, kind: str) -> Any:
        with client.threads.stream(assistant_id="tools_agent", transport=kind) as thread:
            thread.run.start(input=QUESTION)
            return [{"name": call.name, "output": call.output["content"]} for call in list(thread.tool_calls)]

    return of_both(play, url)


@case
def plain_subgraphs(url: str) -> Any:
    def play(client: Any, kind: str) -> Any:
        with client.threads.stream(assistant_id="deep_agent", transport=kind) as thread:
            thread.run.start(input=QUESTION)
            found = list(thread.subgraphs)
            texts = [[str(message.text) for message in list(handle.messages)] for handle in found]
            return {"graphs": [handle.graph_name for handle in found], "texts": texts}

    return of_both(play, url)


@case
def plain_extensions(url: str) -> Any:
    def play(client: Any, kind: str) -> Any:
        with client.threads.stream(assistant_id="agent", transport=kind) as thread:
            asked_and_answered(thread)
            return [f"{one['step']} {one['phase']}" for one in thread.extensions["progress"]]

    return of_both(play, url)


@case
def plain_failing(url: str) -> Any:
    def play(client: Any, kind: str) -> Any:
        with client.threads.stream(assistant_id="fails", transport=kind) as thread:
            thread.run.start(input={"question": "q"})
            try:
                return thread.output
            except RuntimeError as error:
                return str(error)

    return of_both(play, url)
