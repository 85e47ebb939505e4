"""An application of FastAPI with WebSockets as projects write them."""

import asyncio
from typing import Any

from fastapi import FastAPI, WebSocket, WebSocketDisconnect
from starlette.responses import JSONResponse
from starlette.routing import Mount, WebSocketRoute

app = FastAPI()
# How connections have ended, as the application heard it.
ends: list[Any] = []


@app.get("/ends")
async def heard() -> Any:
    return ends


@app.websocket("/rooms/{name}")
async def room(socket: WebSocket, name: str) -> None:
    offered = socket.scope["subprotocols"]
    await socket.accept("chat.v2" if "chat.v2" in offered else None, headers=[(b"x-room", name.encode())])
    user = socket.user.identity if "user" in socket.scope else None
    assert socket.client is not None
    await socket.send_json({"room": name, "user": user, "team": socket.query_params.get("team"), "client": socket.client.host})
    try:
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(message["code"], message.get("reason"))
            if message.get("text") == "please close":
                await socket.close(4321, "as you wish")
                return
            if message.get("text") == "please fail":
                raise RuntimeError("the secret of the room")
            if message.get("text") == "please return":
                return
            if (message.get("text") or "").startswith("send "):
                await socket.send_bytes(bytes(int(message["text"].removeprefix("send "))))
            elif message.get("text") is not None:
                await socket.send_text(f"{name}: {message['text']}")
            else:
                await socket.send_bytes(message["bytes"][::-1])
    except WebSocketDisconnect as end:
        ends.append([name, end.code, end.reason])


@app.websocket("/refuses")
async def refuses(socket: WebSocket) -> None:
    await socket.close()


@app.websocket("/answers")
async def answers(socket: WebSocket) -> None:
    await socket.send_denial_response(JSONResponse({"wait": 7}, 429, {"retry-after": "7"}))


@app.websocket("/never")
async def never(socket: WebSocket) -> None:
    await socket.receive()
    ends.append(["never", (await socket.receive())["type"]])


@app.websocket("/fails")
async def fails(socket: WebSocket) -> None:
    raise RuntimeError("the secret before the room")


@app.websocket("/floods")
async def floods(socket: WebSocket) -> None:
    await socket.accept()
    sent = 0
    try:
        while True:
            await socket.send_bytes(bytes(100_000))
            sent += 1
    except (WebSocketDisconnect, RuntimeError, OSError):
        ends.append(["floods", sent])


@app.websocket("/slow")
async def slow(socket: WebSocket) -> None:
    """Reads nothing before it is told to, by another connection."""
    await socket.accept()
    await released.wait()
    count = 0
    while (message := await socket.receive())["type"] == "websocket.receive":
        count += len(message["bytes"])
        await socket.send_text(str(count))


released = asyncio.Event()


@app.get("/release")
async def release() -> None:
    released.set()


async def mounted(socket: WebSocket) -> None:
    await socket.accept()
    await socket.send_text("mounted")
    await socket.close()


app.router.routes.append(Mount("/below", routes=[WebSocketRoute("/here", mounted)]))


async def plain(scope: Any, receive: Any, send: Any) -> None:
    """Another application than those of Starlette."""
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b""})
    elif scope["type"] == "websocket":
        assert (await receive())["type"] == "websocket.connect"
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.send", "text": f"plain {scope['path']} {scope['scheme']}"})
        assert (await receive())["type"] == "websocket.disconnect"
