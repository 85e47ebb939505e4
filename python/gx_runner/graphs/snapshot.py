"""LangGraph's snapshots in the form of the interface."""

from __future__ import annotations

from typing import Any

from langgraph.types import Interrupt, PregelTask, StateSnapshot

from gx_runner.graphs.older import read_interrupt_id


def list_interrupts(state: StateSnapshot) -> dict[str, list[Any]]:
    """Returns the questions that each task waits with: task id -> its interrupts.

    A task that was answered alone, while another one of its step waits, keeps its interrupts beside its result, and
    waits for nothing.
    """
    waiting = [task for task in state.tasks if task.interrupts and task.result is None]
    return {task.id: [build_question(one) for one in task.interrupts] for task in waiting}


def build_question(interrupt: Interrupt) -> dict[str, Any]:
    """Returns an interrupt. It has a schema of its answer only where the graph gives one, which LangGraph 1.2 can."""
    schema = getattr(interrupt, "response_schema", None)
    return {
        "value": interrupt.value,
        "id": read_interrupt_id(interrupt),
        **({} if schema is None else {"response_schema": schema}),
    }


def build_thread_state(state: StateSnapshot) -> dict[str, Any]:
    """Returns a snapshot as the interface's ThreadState."""
    checkpoint, parent = find_checkpoint(state.config), find_checkpoint(state.parent_config)
    return {
        "values": {} if state.values is None else state.values,
        "next": list(state.next),
        "tasks": [_build_task(task) for task in state.tasks],
        "metadata": state.metadata or {},
        "created_at": state.created_at,
        "checkpoint": checkpoint,
        "parent_checkpoint": parent,
        "interrupts": [build_question(one) for task in state.tasks for one in task.interrupts],
        "checkpoint_id": checkpoint and checkpoint.get("checkpoint_id"),
        "parent_checkpoint_id": parent and parent.get("checkpoint_id"),
    }


def _build_task(task: PregelTask) -> dict[str, Any]:
    within = task.state
    return {
        "id": task.id,
        "name": task.name,
        "path": task.path,
        "error": None if task.error is None else str(task.error),
        "interrupts": [build_question(one) for one in task.interrupts],
        "checkpoint": find_checkpoint(within) if isinstance(within, dict) else None,
        "state": build_thread_state(within) if isinstance(within, StateSnapshot) else None,
        "result": task.result,
    }


def find_checkpoint(config: Any) -> dict[str, Any] | None:
    """Returns the checkpoint that a configuration names; None where it names none."""
    place = (config or {}).get("configurable") or {}
    checkpoint_id, namespace = place.get("checkpoint_id"), place.get("checkpoint_ns")
    if checkpoint_id is None and not namespace:
        return None
    checkpoint = {"thread_id": place.get("thread_id"), "checkpoint_ns": namespace or ""}
    more = {name: place[name] for name in ("checkpoint_id", "checkpoint_map") if place.get(name) is not None}
    return {**checkpoint, **more}
