"""AG-UI's own types for Python, by httpx, against the server at the address that is given: runs with tools, with reasoning and
with a question, whose events all parse with nothing left over, and a run that another one refuses."""

import json
import sys
import uuid

import httpx
from ag_ui.core import Event, RunAgentInput
from pydantic import TypeAdapter

EVENT = TypeAdapter(Event)


def parse(line):
    data = json.loads(line.removeprefix("data: "))
    event = EVENT.validate_python(data)
    again = event.model_dump(mode="json", by_alias=True, exclude_unset=True)
    assert again == data, f"of {data} the protocol has {again}"
    return event


def run(http, url, graph, text, thread=None, **more):
    given = {"id": str(uuid.uuid4()), "role": "user", "content": text}
    fields = {"threadId": thread or str(uuid.uuid4()), "runId": str(uuid.uuid4()), "protocolVersion": "1.0"}
    body = RunAgentInput.model_validate({**fields, "state": {}, "messages": [given], "tools": [], "context": [], "forwardedProps": {}, **more})
    content = body.model_dump_json(by_alias=True, exclude_none=True)
    headers = {"content-type": "application/json", "accept": "text/event-stream"}
    with http.stream("POST", f"{url}/ag-ui/{graph}", content=content, headers=headers) as answer:
        assert answer.status_code == 200, answer.read()
        events = [parse(line) for line in answer.iter_lines() if line.startswith("data: ")]
    assert events[0].type == "RUN_STARTED" and events[0].protocol_version == "1.0", events[0]
    return events


def names(events):
    return [event.type.value for event in events]


url = sys.argv[1]
with httpx.Client(timeout=60) as http:
    called = run(http, url, "chat", "calls")
    kinds = names(called)
    assert kinds.count("TOOL_CALL_START") == kinds.count("TOOL_CALL_RESULT") == 2, kinds
    arguments = {}
    for event in called:
        if event.type == "TOOL_CALL_ARGS":
            arguments[event.tool_call_id] = arguments.get(event.tool_call_id, "") + event.delta
    assert sorted(json.loads(text)["query"] for text in arguments.values()) == ["a", "b"], arguments
    assert called[-1].outcome.type == "success", called[-1]
    thought = names(run(http, url, "chat", "think"))
    assert "REASONING_MESSAGE_CONTENT" in thought and thought[-1] == "RUN_FINISHED", thought
    thread = str(uuid.uuid4())
    asked = run(http, url, "approval", "go", thread)[-1].outcome
    assert asked.type == "interrupt" and asked.interrupts[0].message == "May I?", asked
    answer = {"interruptId": asked.interrupts[0].id, "status": "resolved", "payload": {"ok": True}}
    went = run(http, url, "approval", "go", thread, resume=[answer])
    assert went[-1].outcome.type == "success", went[-1]
    failed = run(http, url, "chat", "fail")[-1]
    assert (failed.type, failed.message) == ("RUN_ERROR", "The model is away."), failed
