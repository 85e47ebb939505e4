"""The Python client through the interface, webhooks and event streaming included. Argument: url."""

import asyncio
import json
import sys
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer
from uuid import uuid4
from zoneinfo import ZoneInfo

from langgraph_sdk import get_client, get_sync_client

client = get_sync_client(url=sys.argv[1], api_key=None)
# The server keeps what earlier runs of this script left.
by = f"python {uuid4()}"
thread_id = client.threads.create(metadata={"by": by})["thread_id"]
start = {"left": 2, "pause": 10}
assert client.runs.wait(thread_id, "steps", input=start)["done"] == 2
events = list(client.runs.stream(thread_id, "steps", input=start, stream_mode=["values", "custom"]))
assert events[0].event == "metadata"
assert [event.data["left"] for event in events if event.event == "custom"] == [2, 1]
run = client.runs.create(thread_id, "steps", input=start)
assert client.runs.join(thread_id, run["run_id"])["done"] == 6
run = client.runs.create(thread_id, "steps", input={"left": 200, "pause": 1000})
client.runs.cancel(thread_id, run["run_id"], wait=True)
assert client.runs.get(thread_id, run["run_id"])["status"] == "interrupted"
told = {}


class Receiver(BaseHTTPRequestHandler):
    """Takes what a run's webhook is told."""

    def do_POST(self) -> None:
        told.update(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


with HTTPServer(("127.0.0.1", 0), Receiver) as receiver:
    run = client.runs.create(thread_id, "steps", input=start, webhook=f"http://127.0.0.1:{receiver.server_port}/")
    receiver.timeout = 30
    receiver.handle_request()
assert told["run_id"] == run["run_id"] and told["status"] == "success" and told["values"]["done"] == 8
assert [thread["thread_id"] for thread in client.threads.search(metadata={"by": by})] == [thread_id]

# Each field that the client's methods take, with every route of crons.
end = datetime.now(timezone.utc) + timedelta(days=400)
weekly = {"schedule": "0 9 * * 1", "timezone": ZoneInfo("Europe/Berlin"), "input": start, "metadata": {"by": by}, "end_time": end}
modes = {"stream_mode": ["values", "custom"], "stream_subgraphs": True, "stream_resumable": True, "durability": "sync"}
stops = {"interrupt_before": ["step"], "interrupt_after": ["step"], "multitask_strategy": "enqueue", "webhook": "https://example.com/"}
cron = client.crons.create("steps", **weekly, **modes, **stops, on_run_completed="keep", context={"a": 1}, config={"tags": ["x"]})
on_thread = client.crons.create_for_thread(thread_id, "steps", **weekly, **modes, **stops, enabled=False)
assert cron["timezone"] == "Europe/Berlin" and cron["on_run_completed"] == "keep" and on_thread["thread_id"] == thread_id
assert datetime.fromisoformat(cron["next_run_date"]).astimezone(ZoneInfo("Europe/Berlin")).strftime("%a %H:%M") == "Mon 09:00"
ours = {"metadata": {"by": by}}
assert client.crons.count(**ours) == 2 and client.crons.count(assistant_id=cron["assistant_id"], thread_id=thread_id) == 1
found = client.crons.search(**ours, enabled=True, sort_by="created_at", sort_order="desc", limit=5, select=["cron_id", "schedule"])
assert found == [{"cron_id": cron["cron_id"], "schedule": "0 9 * * 1"}]
changed = client.crons.update(cron["cron_id"], schedule="0 10 * * 1", end_time=None, enabled=False, on_run_completed="delete")
assert changed["schedule"] == "0 10 * * 1" and changed["end_time"] is None and changed["enabled"] is False
for made in (cron, on_thread):
    client.crons.delete(made["cron_id"])
assert client.crons.count(**ours) == 0
client.store.put_item(["sdk", "python"], "k", {"a": 1})
assert client.store.get_item(["sdk", "python"], "k")["value"] == {"a": 1}
assert len(client.store.search_items(["sdk", "python"])["items"]) == 1

TOKENS = ["Hello", " from", " the", " agent."]
hello = {"messages": [{"role": "user", "content": "hello"}]}
for transport in ("sse", "websocket"):
    with client.threads.stream(assistant_id="agent", transport=transport) as thread:
        assert thread.run.start(input=hello)["run_id"]
        assert [list(message.text) for message in thread.messages] == [TOKENS]
        assert thread.output["messages"][-1]["content"] == [{"type": "text", "text": "Hello from the agent."}]


async def hear(transport: str) -> None:
    """Starts a run that answers, and reads its words."""
    client = get_client(url=sys.argv[1], api_key=None)
    async with client.threads.stream(assistant_id="agent", transport=transport) as thread:
        await thread.run.start(input=hello)
        # What a message says arrives while the script waits for the next one.
        messages = [message async for message in thread.messages]
        assert [[token async for token in message.text] for message in messages] == [TOKENS]


async def ask(transport: str) -> None:
    """Starts a run that asks, answers it, and reads what it came to."""
    client = get_client(url=sys.argv[1], api_key=None)
    async with client.threads.stream(assistant_id="approval", transport=transport) as thread:
        await thread.run.start(input={"request": "go"})
        for _ in range(500):
            if thread.interrupted:
                break
            await asyncio.sleep(0.02)
        assert len(thread.interrupts) == 1
        await thread.run.respond("yes")
        assert (await asyncio.wait_for(thread.output, 30))["answer"] == "yes"


for transport in ("sse", "websocket"):
    asyncio.run(hear(transport))
    asyncio.run(ask(transport))
