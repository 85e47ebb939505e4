"""Requests that get somewhere: half of the well-formed ids become ones that exist (with random ids only, every answer is a 404), half of
the runs go without what this server refuses by name, and none waits for years. What is malformed stays as it is."""

import json
import os
import uuid
import zlib

import schemathesis

KNOWN = json.loads(os.environ.get("GX_FUZZ_IDS", "{}"))


def is_uuid(value):
    try:
        uuid.UUID(value)
        return isinstance(value, str) and len(value) == 36
    except (AttributeError, TypeError, ValueError):
        return False


def known(name, seed, value):
    """The thread and the run of one request are chosen by one seed, so that they belong together."""
    ids = KNOWN.get(name)
    return ids[seed % len(ids)] if ids and seed % 2 == 0 else value


def seed_of(values):
    return zlib.crc32(json.dumps(values, sort_keys=True, default=str).encode())


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    seed = seed_of(path_parameters)
    return {name: known(name, seed, value) if is_uuid(value) else value for name, value in (path_parameters or {}).items()}


# The longest delay that a run may ask for: whoever waits for its end would wait for a hundred years.
LONGEST_DELAY = 3_155_760_000


@schemathesis.hook
def map_body(context, body):
    for one in body if isinstance(body, list) else [body]:
        bring_about(one)
    return body


def bring_about(body):
    if isinstance(body, dict):
        seed = seed_of(body)
        if isinstance(body.get("assistant_id"), str) and body["assistant_id"] and seed % 8:
            body["assistant_id"] = KNOWN["graph_id"][seed % len(KNOWN["graph_id"])]
        if seed % 2:
            if isinstance(body.get("webhook"), str) and body["webhook"]:
                del body["webhook"]
            if isinstance(body.get("feedback_keys"), list) and all(isinstance(key, str) for key in body["feedback_keys"]):
                del body["feedback_keys"]
        if isinstance(body.get("after_seconds"), (int, float)) and 1 < body["after_seconds"] <= LONGEST_DELAY:
            body["after_seconds"] %= 1
