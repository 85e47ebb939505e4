"""Uses an agent server whose host no DNS knows by LangGraph's Python client, and prints what it heard as JSON.

python routed_client.py ADDRESS HOST PORT [KEY]: the address as clients know it, and where the gateway really is.
"""

import asyncio
import json
import socket
import sys
from typing import Any

from langgraph_sdk import get_client

ADDRESS, HOST, PORT, *KEY = sys.argv[1:]
RUN: Any = {"input": {"left": 5, "pause": 200}, "stream_mode": "updates", "stream_resumable": True}


def _lead_to_gateway() -> None:
    """Leads every connection to the gateway, as a DNS with a wildcard does."""
    usual = socket.getaddrinfo

    def resolve(_host: Any, _port: Any, *args: Any, **kwargs: Any) -> Any:
        return usual(HOST, int(PORT), *args, **kwargs)

    async def connect(loop: Any, protocol: Any, _host: Any, _port: Any, **kwargs: Any) -> Any:
        return await usual_connection(loop, protocol, HOST, int(PORT), **kwargs)

    usual_connection = asyncio.BaseEventLoop.create_connection
    socket.getaddrinfo = resolve
    asyncio.BaseEventLoop.create_connection = connect  # type: ignore[method-assign, assignment]


def _left(part: Any) -> list[int]:
    return [part.data["step"]["left"]] if part.event == "updates" else []


async def main() -> None:
    """Reads a run to its end, and another one in two goes."""
    async with get_client(url=ADDRESS, api_key=KEY[0] if KEY else None) as client:
        whole = [left async for part in client.runs.stream(None, "steps", **RUN) for left in _left(part)]
        thread = (await client.threads.create())["thread_id"]
        run = ""
        first: list[int] = []
        last = ""
        async for part in client.runs.stream(thread, "steps", **RUN):
            run = part.data["run_id"] if part.event == "metadata" else run
            last = part.id or last
            first += _left(part)
            if first:
                break
        joined = client.runs.join_stream(thread, run, stream_mode="updates", last_event_id=last)
        rest = [left async for part in joined for left in _left(part)]
    print(json.dumps({"whole": whole, "first": first, "rest": rest}))


_lead_to_gateway()
asyncio.run(main())
