"""Plays cases of LangGraph's Python clients against the server at an address, and prints one line of JSON for each.

python -m clients ADDRESS CASE...
"""

import asyncio
import inspect
import json
import os
import sys
import traceback
from typing import Any

from clients import event_streaming, plain_event_streaming, remote, run_streams

CASES = {
    name: case
    for module in (event_streaming, plain_event_streaming, run_streams, remote)
    for name, case in vars(module).items()
    if callable(case) and getattr(case, "is_case", False)
}

# Seconds that a case may take. One that hangs must not hide the others.
PATIENCE = 30


async def played(name: str, url: str) -> dict[str, Any]:
    case = CASES[name]
    work = case(url) if inspect.iscoroutinefunction(case) else asyncio.to_thread(case, url)
    try:
        return {"case": name, "result": await asyncio.wait_for(work, PATIENCE)}
    except Exception:
        return {"case": name, "error": traceback.format_exc()}


async def main(url: str, names: list[str]) -> None:
    for name in names:
        print(json.dumps(await played(name, url)), flush=True)
    # A thread of a case that hangs would hold up the end.
    os._exit(0)


asyncio.run(main(sys.argv[1], sys.argv[2:]))
