"""A graph that starts threads of its own."""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor

from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

log = logging.getLogger("graphs.threads")
# Its one thread serves all runs.
pool = ThreadPoolExecutor(1)


class Work(TypedDict, total=False):
    name: str


def fail(name: str) -> None:
    raise RuntimeError(f"{name} fails in a thread")


def work(state: Work) -> Work:
    name = state["name"]
    threads = [
        threading.Thread(target=print, args=(f"{name} prints in a thread",)),
        threading.Timer(0.01, log.info, (f"{name} logs later",)),
        threading.Thread(target=fail, args=(name,)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pool.submit(log.info, "%s logs in a pool", name).result()
    return {}


in_threads = StateGraph(Work).add_node("work", work).add_edge(START, "work").add_edge("work", END).compile()
