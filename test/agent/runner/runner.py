"""Runs graphs of its own behind the wall (src/schema/wire/wall/runner.ts), by Python's standard library alone.

It stands for any runner in another process. A graph is a list of named steps; a step takes the state and the run, and
returns what it changes. The state is one channel, "state", whose values have the type "py:json".
"""

import ctypes
import json
import os
import random
import signal
import socket
import struct
import sys
import threading
import time
import uuid
from datetime import datetime, timezone

VERSION = os.environ.get("TEST_WALL_VERSION", "1.0")
BEAT_SECONDS = 0.5
PR_SET_PDEATHSIG = 1
# Bytes of an answer that may be on their way.
ROOM = 64 * 1024


class Wall:
    """The socket to the server. The main thread reads it and sends signs of life; runs have threads of their own."""

    def __init__(self):
        self.socket = socket.socket(fileno=3)
        self.lock = threading.Lock()
        self.answers = {}
        self.last_ask = 0
        self.exchanges = {}

    def send(self, message, *attachments):
        """Sends a message, in which the attachments stand as their lengths, in the order of the schema."""
        text = json.dumps(message).encode()
        rest = b"".join(attachments)
        with self.lock:
            self.socket.sendall(struct.pack("<II", 4 + len(text) + len(rest), len(text)) + text + rest)

    def ask(self, message, *attachments):
        """Sends a question, and waits for its answer."""
        with self.lock:
            self.last_ask += 1
            ask_id = self.last_ask
        waiting = {"event": threading.Event()}
        self.answers[ask_id] = waiting
        self.send({**message, "ask_id": ask_id}, *attachments)
        waiting["event"].wait()
        answer, blobs = waiting["answer"]
        if answer["kind"] == "refused":
            raise RuntimeError(answer["message"])
        return answer, blobs

    def answered(self, answer, blobs):
        waiting = self.answers.pop(answer["ask_id"])
        waiting["answer"] = (answer, blobs)
        waiting["event"].set()

    def request(self, method, path, body=None):
        """Sends a request to the server itself, and returns the JSON of its answer."""
        with self.lock:
            self.last_ask += 1
            exchange = self.last_ask
        rest = None if body is None else json.dumps(body).encode()
        asked = self.exchanges[exchange] = {"rest": rest, "answer": b"", "over": threading.Event(), "status": None}
        headers = [["content-type", "application/json"]]
        head = {"method": method, "url": f"http://localhost{path}", "headers": headers, "hasBody": body is not None}
        self.exchange({"kind": "ask", "exchange": exchange, "head": head, "purpose": {"want": "call"}})
        asked["over"].wait()
        if asked["status"] >= 300:
            raise RuntimeError(f"{asked['status']}: {asked['answer'].decode()}")
        return json.loads(asked["answer"] or "null")

    def exchange(self, message, *attachments):
        self.send({"kind": "exchange", "message": message}, *attachments)

    def exchanged(self, message, blobs):
        """Goes on with a request: sends as much of its body as there is room for, and gathers the answer."""
        asked, kind, of = self.exchanges[message["exchange"]], message["kind"], {"exchange": message["exchange"]}
        if kind == "more":
            piece, asked["rest"] = asked["rest"][: message["bytes"]], asked["rest"][message["bytes"] :]
            self.exchange({"kind": "chunk", **of, "of": "request", "bytes": len(piece)}, piece)
            if not asked["rest"]:
                self.exchange({"kind": "end", **of, "of": "request"})
        elif kind == "answer":
            asked["status"] = message["head"]["status"]
            if message["head"]["hasBody"]:
                self.exchange({"kind": "more", **of, "of": "answer", "bytes": ROOM})
        elif kind == "refused":
            asked["status"], asked["answer"] = message["status"], message["message"].encode()
        elif kind == "chunk":
            asked["answer"] += blobs
            self.exchange({"kind": "more", **of, "of": "answer", "bytes": len(blobs)})
        if kind in ("refused", "end") or kind == "answer" and not message["head"]["hasBody"]:
            asked["over"].set()

    def read(self):
        """Returns the next message and the bytes behind it. Without a server, the process ends at once."""
        total, length = struct.unpack("<II", self.exactly(8))
        return json.loads(self.exactly(length)), self.exactly(total - 4 - length)

    def exactly(self, count):
        parts = b""
        while len(parts) < count:
            part = self.socket.recv(count - len(parts))
            if not part:
                os._exit(0)
            parts += part
        return parts


class Interrupt(Exception):
    """A step asks a question, and goes on from its beginning with the answer."""


class Lost(Exception):
    """Another worker has the run."""


class Run:
    def __init__(self, wall, spec):
        self.wall, self.spec = wall, spec
        self.stop, self.heard = threading.Event(), not spec["unheard"]
        self.modes = spec["kwargs"]["stream_mode"]
        self.parent, self.version, self.number, self.answer = None, 0, -1, None

    def emit(self, *events):
        if self.heard:
            texts = [json.dumps(data).encode() for _, data in events]
            batch = [[name, len(text)] for (name, _), text in zip(events, texts)]
            self.wall.send({"kind": "events", "run_id": self.spec["run_id"], "batch": batch}, *texts)

    def custom(self, *data):
        if "custom" in self.modes:
            self.emit(*[("custom", one) for one in data])

    def store(self, operation):
        answer, blobs = self.wall.ask({"kind": "store", "operation": operation})
        return json.loads(blobs[: answer["json"]])

    def at(self, checkpoint_id):
        return {"thread_id": self.spec["thread_id"], "namespace": "", "checkpoint_id": checkpoint_id}

    def put(self, state, done, source="loop"):
        """Stores where the run stands: the state, and the number of steps that are done."""
        if self.spec["kwargs"]["temporary"]:
            return
        self.number, self.version = self.number + 1, self.version + 1
        checkpoint_id = str(uuid.UUID(int=time.time_ns() << 64 | random.getrandbits(64)))
        version, blob = f"{self.version:010}.{random.randrange(10**10):010}", json.dumps(state).encode()
        checkpoint = {"v": 4, "id": checkpoint_id, "ts": datetime.now(timezone.utc).isoformat(), "versions_seen": {}}
        metadata = {"source": source, "step": self.number, "done": done, "run_attempt": self.spec["attempt"], "pid": os.getpid()}
        message = {
            "kind": "put", "run_id": self.spec["run_id"], **self.at(checkpoint_id), "parent": self.parent,
            "step": self.number, "checkpoint": {**checkpoint, "channel_versions": {"state": version}},
            "metadata": metadata, "values": [{"version": version, "channel": "state", "type": "py:json", "blob": len(blob)}],
        }
        (self.wall.ask if self.spec["kwargs"]["durability"] == "sync" else self.wall.send)(message, blob)
        self.parent = checkpoint_id

    def put_question(self, task_id, interrupts):
        blob = json.dumps(interrupts).encode()
        write = {"index": -3, "channel": "__interrupt__", "type": "py:json", "blob": len(blob)}
        message = {"kind": "writes", "run_id": self.spec["run_id"], **self.at(self.parent), "task_id": task_id, "path": ""}
        self.wall.send({**message, "replace": True, "writes": [write]}, blob)

    def begin(self):
        """Returns the state and the number of steps that are done: of the run's former attempt, or of its thread."""
        kwargs, last = self.spec["kwargs"], None
        if not kwargs["temporary"]:
            last = last_of(self.wall, self.spec["thread_id"])
        state, done = {}, 0
        if last is not None:
            state, self.parent, self.number = last["state"], last["checkpoint_id"], last["metadata"]["step"]
            self.version = int(last["checkpoint"]["channel_versions"]["state"].split(".")[0])
        goes_on = self.spec["attempt"] > 1 and last is not None and last["metadata"].get("run_id") == self.spec["run_id"]
        if goes_on or kwargs["command"]:
            done = last["metadata"]["done"]
            self.answer = (kwargs["command"] or {}).get("resume")
        if self.spec["attempt"] > 1:
            answer, _ = self.wall.ask({"kind": "begin", "run_id": self.spec["run_id"], "attempt": self.spec["attempt"]})
            if not answer["begins"]:
                raise Lost()
        if not goes_on and not kwargs["command"]:
            state = {**state, **(kwargs["input"] or {})}
            self.put(state, done, "input")
        return state, done

    def carry_out(self):
        self.emit(("metadata", {"run_id": self.spec["run_id"], "attempt": self.spec["attempt"]}))
        steps = GRAPHS[self.spec["graph_id"]]
        state, done = self.begin()
        if "values" in self.modes:
            self.emit(("values", state))
        while done < len(steps):
            if self.stop.is_set():
                return {"status": "interrupted", "waiting": True}, state, {}
            name, step = steps[done]
            try:
                update, again = step(state, self)
            except Interrupt as question:
                interrupts = [{"id": uuid.uuid4().hex, "value": question.args[0]}]
                self.put_question(name, interrupts)
                self.emit(*[(mode, {"__interrupt__": interrupts}) for mode in ("updates", "values") if mode in self.modes])
                return {"status": "success", "waiting": True}, state, {name: interrupts}
            state, done = {**state, **update}, done if again else done + 1
            events = [("updates", {name: update}), ("values", state)]
            self.emit(*[event for event in events if event[0] in self.modes])
            self.put(state, done)
        return {"status": "success", "waiting": False}, state, {}

    def run(self):
        attachments = []
        try:
            outcome, state, interrupts = self.carry_out()
            attachments = [json.dumps(state).encode(), json.dumps(interrupts).encode()]
            outcome = {**outcome, "values": len(attachments[0]), "interrupts": len(attachments[1])}
        except Lost:
            outcome = {"status": "interrupted", "waiting": False, "lost": True}
        except Exception as error:
            outcome = {"status": "error", "waiting": False, "error": {"error": type(error).__name__, "message": str(error)}}
        RUNS.pop(self.spec["run_id"], None)
        self.wall.send({"kind": "done", "run_id": self.spec["run_id"], "outcome": outcome}, *attachments)


def last_of(wall, thread_id):
    """Returns the last checkpoint of a thread with its state and its questions; None where there is none."""
    answer, blobs = wall.ask({"kind": "read", "thread_id": thread_id, "namespace": "", "limit": 1})
    if not answer["checkpoints"]:
        return None
    [last] = answer["checkpoints"]
    texts = []
    for value in last["values"] + last["writes"]:
        texts.append(json.loads(blobs[: value["blob"]]))
        blobs = blobs[value["blob"] :]
    waiting = {write["task_id"]: text for write, text in zip(last["writes"], texts[1:])}
    return {**last, "state": texts[0], "interrupts": waiting}


def call(wall, message):
    """Answers a question about a thread."""
    args, head = message["args"], {"call_id": message["call_id"]}
    if message["operation"] != "state":
        return wall.send({"kind": "failed", **head, "status": 501, "message": "This runner knows only states."})
    last = last_of(wall, args["thread_id"])
    steps = GRAPHS[args["graph_id"]]
    next_steps = [] if last is None else [name for name, _ in steps[last["metadata"]["done"] :][:1]]
    interrupts = {} if last is None else last["interrupts"]
    tasks = [{"id": name, "name": name, "path": [], "error": None, "interrupts": interrupts.get(name, []), "checkpoint": None,
              "state": None, "result": None} for name in next_steps]
    at = last and {"thread_id": args["thread_id"], "checkpoint_ns": "", "checkpoint_id": last["checkpoint_id"]}
    state = {
        "values": last["state"] if last else {}, "next": next_steps, "tasks": tasks, "metadata": last["metadata"] if last else {},
        "created_at": last["checkpoint"]["ts"] if last else None, "checkpoint": at, "parent_checkpoint": None,
        "interrupts": [one for task in tasks for one in task["interrupts"]],
        "checkpoint_id": last and last["checkpoint_id"], "parent_checkpoint_id": last and last["parent"],
    }
    text = json.dumps(state).encode()
    wall.send({"kind": "result", **head, "json": len(text)}, text)


def echo(state, run):
    return {"answer": f"echo: {state['question']}"}, False


def stream(state, run):
    for number in range(state["events"]):
        run.custom({"number": number, "text": "Grüße, 世界"})
    return {"streamed": state["events"]}, False


def count(state, run):
    """Counts to `to`, one number a step."""
    time.sleep(state["pause"])
    done = state.get("done", 0) + 1
    run.custom({"done": done, "pid": os.getpid()})
    return {"done": done}, done < state["to"]


def ask(state, run):
    if run.answer is None:
        raise Interrupt("Which colour?")
    return {"colour": run.answer}, False


def remember(state, run):
    place = {"namespace": ["python"], "key": state["key"]}
    run.store({"does": "put", **place, "value": {"secret": state["value"]}})
    return {"read": run.store({"does": "get", **place})["value"]["secret"]}, False


def inside(state, run):
    """Uses the routes of its own server."""
    run.wall.request("PUT", "/store/items", {"namespace": ["inside"], "key": state["key"], "value": {"text": state["value"]}})
    item = run.wall.request("GET", f"/store/items?namespace=inside&key={state['key']}")
    return {"read": item["value"]["text"]}, False


def where(state, run):
    place = {"folder": os.getcwd(), "path": os.environ.get("PYTHONPATH"), "arguments": sys.argv[1:], "pid": os.getpid()}
    return {"answer": json.dumps(place)}, False


def fail(state, run):
    raise ValueError("The step fails.")


def stick(state, run):
    """Stops the whole process: no thread of it runs meanwhile."""
    while True:
        os.kill(os.getpid(), signal.SIGSTOP)


GRAPHS = {
    "echo": [("echo", echo)], "stream": [("stream", stream)], "count": [("count", count)], "ask": [("ask", ask), ("echo", echo)],
    "remember": [("remember", remember)], "inside": [("inside", inside)], "where": [("where", where)], "fail": [("fail", fail)], "stick": [("stick", stick)],
}
RUNS = {}


def beat(wall):
    while True:
        wall.send({"kind": "beat", "full": False, "late": 0})
        time.sleep(BEAT_SECONDS)


def hear(wall, message, blobs):
    kind = message["kind"]
    if kind == "start":
        wall.send({"kind": "ready", "version": VERSION, "nodes": {graph["graphId"]: None for graph in message["start"]["graphs"]}})
        threading.Thread(target=beat, args=(wall,), daemon=True).start()
    elif kind == "run":
        run = RUNS[message["spec"]["run_id"]] = Run(wall, message["spec"])
        threading.Thread(target=run.run, daemon=True).start()
    elif kind in ("abort", "hear") and message["run_id"] in RUNS:
        run = RUNS[message["run_id"]]
        run.stop.set() if kind == "abort" else setattr(run, "heard", True)
    elif kind == "call":
        threading.Thread(target=call, args=(wall, message), daemon=True).start()
    elif kind == "exchange":
        wall.exchanged(message["message"], blobs)
    elif "ask_id" in message:
        wall.answered(message, blobs)


def main():
    # A process that is stopped or busy does not see the end of its socket. The kernel ends it with its parent.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    wall = Wall()
    while True:
        hear(wall, *wall.read())


main()
