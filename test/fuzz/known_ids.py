"""Requests that get somewhere: half of the well-formed ids and names become ones that exist, of the caller or of its neighbours (with
random ids only, every answer is a 404), half of the runs go without what this server refuses by name, and none waits for years. What is
malformed stays as it is."""

import copy
import json
import os
import re
import uuid
import zlib

import schemathesis
from schemathesis.core.failures import AcceptedNegativeData

KNOWN = json.loads(os.environ.get("GX_FUZZ_IDS", "{}"))

PLAIN = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


def is_uuid(value):
    try:
        uuid.UUID(value)
        return isinstance(value, str) and len(value) == 36
    except (AttributeError, TypeError, ValueError):
        return False


def is_like(value, other):
    """Whether a value is well-formed where the other one is: an id for an id, a plain word for a plain word."""
    return is_uuid(value) if is_uuid(other) else isinstance(value, str) and PLAIN.fullmatch(value) is not None


def known(name, seed, value):
    """What stands in one request is chosen by one seed, so that its thread and its run belong together."""
    values = KNOWN.get(name) or KNOWN.get(name.removesuffix("s"))
    if not values or seed % 2:
        return value
    chosen = values[seed // 2 % len(values)]
    return chosen if is_like(value, chosen) else value


def seed_of(values):
    return zlib.crc32(json.dumps(values, sort_keys=True, default=str).encode())


def with_known(values, seed):
    """Values by name, and lists of them, at any depth. The elements of one list differ."""
    if not isinstance(values, dict):
        return values
    return {name: with_known_at(name, value, seed) for name, value in values.items()}


def with_known_at(name, value, seed):
    if isinstance(value, list):
        return [with_known_at(name, one, seed + 2 * index) for index, one in enumerate(value)]
    return with_known(value, seed) if isinstance(value, dict) else known(name, seed, value)


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    return with_known(path_parameters or {}, seed_of(path_parameters))


@schemathesis.hook
def map_query(context, query):
    return with_known(query, seed_of(query))


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """An empty value of a query means none, as official clients write it. To the document, which can't say so, it breaks the schema."""
    return not (isinstance(failure, AcceptedNegativeData) and any(is_empty(value) for value in (case.query or {}).values()))


def is_empty(value):
    return value is None or value == "" or (isinstance(value, list) and any(is_empty(one) for one in value))


# The longest delay that a run may ask for: whoever waits for its end would wait for a hundred years.
LONGEST_DELAY = 3_155_760_000


@schemathesis.hook
def map_body(context, body):
    asked = asked_by_protocol(context.operation.path, body)
    if asked is not None:
        return asked
    for one in body if isinstance(body, list) else [body]:
        bring_about(one)
    if isinstance(body, list):
        return [with_known(one, seed_of(one)) for one in body]
    return with_known(body, seed_of(body))


@schemathesis.hook
def before_call(context, case, kwargs):
    """The same for requests at the borders that the document names, which no other hook sees. They are most of all requests."""
    with_headers_of_protocol(case)
    if case.meta is None or case.meta.phase.name.value != "coverage":
        return
    # What is assigned is judged anew by the schema, so only what differs is.
    path = with_known(dict(case.path_parameters or {}), seed_of([case.path_parameters, case.query, case.body]))
    if path != dict(case.path_parameters or {}):
        case.path_parameters = path
    if isinstance(case.body, (dict, list)):
        body = map_body(context, copy.deepcopy(case.body))
        if body != case.body:
            case.body = body


NEWER_MCP = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": NEWER_MCP,
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    "io.modelcontextprotocol/clientInfo": {"name": "fuzz", "version": "1"},
}
MCP_METHODS = ["tools/call", "tools/call", "tools/list", "server/discover", "initialize", "ping", "notifications/cancelled"]
A2A_METHODS = [
    "SendMessage",
    "SendMessage",
    "SendStreamingMessage",
    "GetTask",
    "ListTasks",
    "CancelTask",
    "SubscribeToTask",
    "GetExtendedAgentCard",
    "CreateTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
    "DeleteTaskPushNotificationConfig",
    "message/send",
    "message/stream",
    "tasks/get",
    "tasks/cancel",
    "tasks/resubscribe",
    "tasks/pushNotificationConfig/set",
    "tasks/pushNotificationConfig/list",
]


def asked_by_protocol(path, body):
    """The document says nothing of the messages of MCP and A2A. Three of four become such messages, around what was generated."""
    seed = seed_of(body)
    if "thread_id" not in KNOWN or seed % 4 == 0:
        return None
    if path.endswith("/mcp"):
        return mcp_message(body, seed // 4)
    return a2a_message(body, seed // 4) if "/a2a/" in path else None


def mcp_message(body, seed):
    given = body if isinstance(body, dict) and seed % 3 == 0 else {"left": 1, "said": "x", "request": "x"}
    params = {"name": KNOWN["graph_id"][seed % len(KNOWN["graph_id"])], "arguments": given, "_meta": {**META, "progressToken": "one"} if seed % 2 else META}
    if seed % 5 == 0:
        params["requestState"] = body if isinstance(body, str) else "v1.x.y"
    return {"jsonrpc": "2.0", "id": 1, "method": MCP_METHODS[seed % len(MCP_METHODS)], "params": params}


def a2a_message(body, seed):
    """Tasks are those of threads that exist, of the caller and of its neighbours."""
    at = seed % len(KNOWN["thread_id"])
    task = f"{KNOWN['thread_id'][at]}:{KNOWN['run_id'][at]}"
    method = A2A_METHODS[seed % len(A2A_METHODS)]
    newer = method[0].isupper()
    data = body if seed % 3 == 0 else {"left": 1, "said": "x", "request": "x"}
    part = {"data": data} if newer else {"kind": "data", "data": data}
    # Some messages come again, which makes them the same task.
    message = {"messageId": f"m-{seed}" if seed % 2 else "m", "role": "ROLE_USER" if newer else "user", "parts": [part]}
    if not newer:
        message["kind"] = "message"
    if seed % 4 == 1:
        message["taskId"] = task
    if seed % 4 == 2:
        message["contextId"] = KNOWN["thread_id"][at]
    push = {"id": "one", "url": KNOWN["webhook"][0], "token": "x", "authentication": {"scheme": "Bearer", "schemes": ["Bearer"]}}
    params = {"taskId": task, "message": message, "pageSize": 5, **push, "pushNotificationConfig": push}
    if not method.endswith("TaskPushNotificationConfig"):
        params["id"] = task
    if seed % 7 == 0:
        params["configuration"] = {"taskPushNotificationConfig": push, "pushNotificationConfig": push}
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def with_headers_of_protocol(case):
    """What clients of MCP say of themselves, and the method of a message of the newer revision once more."""
    if not case.operation.path.endswith("/mcp"):
        return
    headers = {"accept": "application/json, text/event-stream"}
    if isinstance(case.body, dict) and seed_of(case.body) % 2:
        params = case.body.get("params")
        name = params.get("name") if isinstance(params, dict) else None
        headers |= {"mcp-protocol-version": NEWER_MCP, "mcp-method": str(case.body.get("method")), "mcp-name": str(name)}
    case.headers = {**(case.headers or {}), **{k: v for k, v in headers.items() if v.isascii() and v.isprintable()}}


def bring_about(body):
    if isinstance(body, dict):
        seed = seed_of(body)
        if "graph_id" in KNOWN and isinstance(body.get("assistant_id"), str) and body["assistant_id"] and seed % 8:
            names = KNOWN["graph_id"] if seed % 8 < 6 else KNOWN["assistant_id"]
            body["assistant_id"] = names[seed // 8 % len(names)]
        if seed % 2:
            if isinstance(body.get("webhook"), str) and body["webhook"]:
                bring_webhook(body, seed)
            if isinstance(body.get("schedule"), str) and body["schedule"]:
                body["schedule"] = "0 0 1 1 *"
            if isinstance(body.get("feedback_keys"), list) and all(isinstance(key, str) for key in body["feedback_keys"]):
                del body["feedback_keys"]
        if isinstance(body.get("after_seconds"), (int, float)) and 1 < body["after_seconds"] <= LONGEST_DELAY:
            body["after_seconds"] %= 1


def bring_webhook(body, seed):
    """A receiver that listens, for half of those that get somewhere; most others are refused."""
    if "webhook" in KNOWN and seed % 4 == 1:
        body["webhook"] = KNOWN["webhook"][0]
    else:
        del body["webhook"]
