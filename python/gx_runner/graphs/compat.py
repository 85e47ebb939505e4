"""Names of LangGraph that are not public, each with its probe. No other file uses one."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Container
from typing import Any, NamedTuple

from gx_runner.graphs.older import read_context_schema

# Where a call may bring a checkpointer of its own, whatever namespace it is about.
CHECKPOINTER = "__pregel_checkpointer"
# The channel of the sends that wait for the next step.
SENDS = "__pregel_tasks"


class AuthHandlers(NamedTuple):
    """The handlers of an `Auth` object of langgraph_sdk; those of `on` by resource and action, where "*" is any."""

    authenticate: Callable[..., Any] | None
    on: dict[tuple[str, str], list[Callable[..., Any]]]


def read_auth_handlers(auth: Any) -> AuthHandlers | None:
    """Returns the handlers of an `Auth` object; None for anything else. langgraph_sdk keeps these names for servers."""
    on, of_all = getattr(auth, "_handlers", None), getattr(auth, "_global_handlers", None)
    if not isinstance(on, dict) or not isinstance(of_all, list) or not hasattr(auth, "_authenticate_handler"):
        return None
    return AuthHandlers(auth._authenticate_handler, {**on, ("*", "*"): of_all})


class EncryptionHandlers(NamedTuple):
    """The handlers of an `Encryption` object of langgraph_sdk; None where one is not registered."""

    encrypt_blob: Callable[..., Any] | None
    decrypt_blob: Callable[..., Any] | None
    encrypt_json: Callable[..., Any] | None
    decrypt_json: Callable[..., Any] | None
    context: Callable[..., Any] | None


def read_encryption_handlers(encryption: Any) -> EncryptionHandlers | None:
    """Returns the handlers of an `Encryption` object; None for anything else. Servers read them by these names."""
    names = ("_blob_encryptor", "_blob_decryptor", "_json_encryptor", "_json_decryptor", "_context_handler")
    if isinstance(encryption, type) or not all(hasattr(encryption, name) for name in names):
        return None
    return EncryptionHandlers(*(getattr(encryption, name) for name in names))


def build_server_runtime(access: str, *, store: Any, user: Any, context: Any) -> Any:
    """Returns the runtime that a factory of graphs is given, or None where the SDK has none."""
    try:
        from langgraph_sdk import runtime
    except ImportError:
        return None
    execution, read = getattr(runtime, "_ExecutionRuntime", None), getattr(runtime, "_ReadRuntime", None)
    if execution is None or read is None:
        return None
    if access == "threads.create_run":
        return execution(access_context=access, user=user, store=store, context=context)
    return read(access_context=access, user=user, store=store)


def is_server_runtime(annotation: Any) -> bool:
    """Returns whether a parameter is annotated as the runtime, also as a text or with a type of context."""
    if annotation is inspect.Parameter.empty:
        return False
    return "ServerRuntime" in (annotation if isinstance(annotation, str) else repr(annotation))


def replace_sync_client(replaced: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replaces langgraph_sdk's `get_sync_client` in all modules from which it is imported."""
    try:
        import langgraph_sdk
    except ImportError:
        return
    of_sdk = ("langgraph_sdk", "langgraph_sdk.client", "langgraph_sdk._sync", "langgraph_sdk._sync.client")
    names = (*of_sdk, "langgraph.pregel.remote")
    original = langgraph_sdk.get_sync_client
    made = replaced(original)
    for name in names:
        module: Any = sys.modules.get(name)
        if getattr(module, "get_sync_client", None) is original:
            module.get_sync_client = made


def build_run_control(graph: Any, drains: Callable[[], bool]) -> dict[str, Any]:
    """Returns the keyword by which a call of the graph stops between two steps once `drains` says so.

    LangGraph has it since 1.2. Graphs within nodes get the same object, and do not stop by it: a node that is stopped in
    its middle begins again, with all that stands beside the graph in it.
    """
    control = _build_control_class()
    return {} if control is None or not _can_take_control(type(graph).astream) else {"control": control(drains)}


@functools.cache
def _build_control_class() -> Callable[[Callable[[], bool]], Any] | None:
    try:
        from langgraph.runtime import RunControl
    except ImportError:
        return None

    from langchain_core.runnables.config import var_child_runnable_config

    class Control(RunControl):
        def __init__(self, drains: Callable[[], bool]) -> None:
            super().__init__()
            self._drains = drains

        @property
        def drain_requested(self) -> bool:
            return super().drain_requested or (self._drains() and var_child_runnable_config.get() is None)

    return Control


@functools.cache
def _can_take_control(stream: Callable[..., Any]) -> bool:
    return "control" in inspect.signature(stream).parameters


@functools.cache
def _can_take_context(stream: Callable[..., Any]) -> bool:
    parameters = inspect.signature(stream).parameters.values()
    return any(one.name == "context" or one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters)


def can_take_context(graph: Any) -> bool:
    """Returns whether the call of a graph has a context: a class of the user's own may know none."""
    return _can_take_context(type(graph).astream)


def read_classes(serde: Any) -> Any:
    """Returns which classes a serializer makes objects of; the same for all serializers of an older LangGraph."""
    if (classes := getattr(serde, "classes", None)) is not None:
        return classes.names
    allowed = getattr(serde, "_allowed_msgpack_modules", None)
    return frozenset(allowed) if isinstance(allowed, (set, tuple, list)) else allowed


def unpack_hook(classes: Container[tuple[str, ...]]) -> Callable[[int, bytes], Any] | None:
    """Returns how a serializer makes objects of these classes and no others; None where LangGraph gives no choice."""
    from langgraph.checkpoint.serde import jsonplus

    make = getattr(jsonplus, "_create_msgpack_ext_hook", None)
    return None if make is None else make(classes)


def register_classes(graph: Any) -> None:
    """Names to a graph the classes of its state. `compile` does so, and LangGraph's `with_config` forgets it."""
    if getattr(graph, "_serde_allowlist", ()) is not None:
        return
    from langgraph._internal._serde import build_serde_allowlist

    builder = getattr(graph, "builder", None)
    schemas = [getattr(builder, name, None) for name in ("state_schema", "input_schema", "output_schema")]
    of_nodes = [getattr(node, "input_schema", None) for node in getattr(builder, "nodes", {}).values()]
    all_of_them: list[Any] = [read_context_schema(graph), *schemas, *of_nodes]
    graph._serde_allowlist = build_serde_allowlist(schemas=all_of_them, channels=graph.channels)


def list_state_fields(graph: Any, side: str) -> list[str] | None:
    """Returns the fields of a graph's "input" or "output"; None for a graph that no state describes."""
    builder = getattr(graph, "builder", None)
    schemas, schema = getattr(builder, "schemas", {}), getattr(builder, f"{side}_schema", None)
    return list(schemas[schema]) if schema in schemas else None


def is_drained(error: BaseException) -> bool:
    """Returns whether LangGraph raised the error between two steps because the run was asked to stop there."""
    return type(error).__name__ == "GraphDrained"
