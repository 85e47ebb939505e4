"""The official Python client of A2A against the server at the address that is given: sends, is asked, goes on, cancels."""

import asyncio
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as a2a
from google.protobuf import json_format, struct_pb2


def message(part, **more):
    return a2a.SendMessageRequest(message=a2a.Message(message_id=str(uuid.uuid4()), role=a2a.ROLE_USER, parts=[part], **more))


def data(value):
    return a2a.Part(data=json_format.ParseDict(value, struct_pb2.Value()))


async def client_of(http, url, assistant, streaming):
    card = await A2ACardResolver(http, f"{url}/a2a/{assistant}").get_agent_card()
    return ClientFactory(ClientConfig(streaming=streaming, httpx_client=http)).create(card)


async def every(events):
    return [event async for event in events]


async def play(url, streaming):
    async with httpx.AsyncClient() as http:
        chat = await client_of(http, url, "chat", streaming)
        heard = await every(chat.send_message(message(a2a.Part(text="Hello"))))
        kinds = [event.WhichOneof("payload") for event in heard]
        updates = ["status_update", "status_update", "artifact_update", "status_update"]
        assert kinds == ["task", *(updates if streaming else [])], kinds
        task_id = heard[0].task.id
        done = await chat.get_task(a2a.GetTaskRequest(id=task_id))
        assert done.status.state == a2a.TASK_STATE_COMPLETED, done
        assert done.artifacts[0].parts[0].text == "I hear you well.", done
        copies = await client_of(http, url, "copies", streaming)
        picture = a2a.Part(raw=b"\x89PNG", media_type="image/png", filename="a picture.png")
        sent = await every(copies.send_message(message(picture)))
        copied = await copies.get_task(a2a.GetTaskRequest(id=sent[0].task.id))
        assert copied.artifacts[0].parts[0] == picture, copied
        approval = await client_of(http, url, "approval", streaming)
        asked = await every(approval.send_message(message(data({"request": "go"}))))
        task = asked[0].task
        waiting = await approval.get_task(a2a.GetTaskRequest(id=task.id))
        assert waiting.status.state == a2a.TASK_STATE_INPUT_REQUIRED, waiting
        went = await every(approval.send_message(message(a2a.Part(text="yes"), task_id=task.id, context_id=task.context_id)))
        assert went[0].task.id == task.id, went
        listed = await approval.list_tasks(a2a.ListTasksRequest(context_id=task.context_id, include_artifacts=True))
        assert [one.id for one in listed.tasks] == [task.id], listed
        assert json_format.MessageToDict(listed.tasks[0].artifacts[0].parts[0].data)["answer"] == "yes", listed
        broken = await client_of(http, url, "broken", True)
        stream = broken.send_message(message(data({"how": "never"})))
        began = await anext(stream)
        cancelled = await broken.cancel_task(a2a.CancelTaskRequest(id=began.task.id))
        assert cancelled.status.state == a2a.TASK_STATE_CANCELED, cancelled
        rest = await every(stream)
        assert rest[-1].status_update.status.state == a2a.TASK_STATE_CANCELED, rest


for streaming in (True, False):
    asyncio.run(play(sys.argv[1], streaming))
