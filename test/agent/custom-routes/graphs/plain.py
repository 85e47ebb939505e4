"""The Python twin of plain.ts: an application of ASGI without a framework."""

import json
from typing import Any


async def default(scope: Any, receive: Any, send: Any) -> None:
    if scope["path"] != "/plain":
        await send({"type": "http.response.start", "status": 404, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": b"Not mine."})
        return
    message = await receive()
    body = message["body"]
    while message["more_body"]:
        message = await receive()
        body += message["body"]
    answer = json.dumps({"method": scope["method"], "body": body.decode()}).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": answer})
