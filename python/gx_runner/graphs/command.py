"""The input of a run: what a graph is given at its beginning."""

from __future__ import annotations

from typing import Any

from langgraph.types import Command, Send, StateSnapshot

from gx_runner.graphs.loading import Graph
from gx_runner.graphs.older import read_interrupt_id
from gx_runner.wall.failures import UnknownNodeError

_START, _END = "__start__", "__end__"


def build_command(command: dict[str, Any]) -> Command[Any]:
    """Returns a command, as clients write it, in LangGraph's form."""
    fields: dict[str, Any] = {name: command[name] for name in ("update", "resume") if command.get(name) is not None}
    if isinstance(update := fields.get("update"), list) and all(isinstance(one, list) and len(one) == 2 for one in update):
        fields["update"] = [tuple(pair) for pair in update]
    goals = [Send(one["node"], one.get("input")) if isinstance(one, dict) else one for one in _list_goals(command)]
    return Command(**fields, goto=goals) if goals else Command(**fields)


def _list_goals(command: dict[str, Any] | None) -> list[Any]:
    goals = (command or {}).get("goto") or []
    return goals if isinstance(goals, list) else [goals]


def refuse_unknown(kwargs: dict[str, Any], nodes: list[str]) -> None:
    """Refuses goals that the graph does not have, which LangGraph silently ignores."""
    for one in _list_goals(kwargs["command"]):
        goal = one["node"] if isinstance(one, dict) else one
        if goal != _END and (goal == _START or goal not in nodes):
            known = ", ".join(name for name in nodes if name != _START)
            raise UnknownNodeError(f'command.goto: the graph has no node "{goal}"; it has {known}')


async def choose_input(graph: Graph, spec: dict[str, Any]) -> Any:
    """Returns the input of the run, or its command. Answers to questions that nobody asks any more are new input."""
    kwargs = spec["kwargs"]
    command, answers = kwargs["command"], kwargs.get("answers")
    if command is None:
        return kwargs["input"]
    if answers is None:
        return build_command(command)
    state = await graph.aget_state({"configurable": {"thread_id": spec["thread_id"], "checkpoint_ns": ""}})
    return _build_answer(command, _list_waiting(state), answers)


def _list_waiting(state: StateSnapshot) -> list[str]:
    """Returns the ids of the questions without an answer. One that was answered beside others stays in the state."""
    return [read_interrupt_id(one) for task in state.tasks if task.result is None for one in task.interrupts]


def _build_answer(command: dict[str, Any], waiting: list[str], answers: list[str]) -> Any:
    resume = command.get("resume")
    asked = [question for question in waiting if question in answers]
    if not asked:
        return resume
    names_question = isinstance(resume, dict) and any(key in waiting for key in resume)
    # Later questions must not get the answer, too.
    if len(asked) < len(waiting) and not names_question:
        return build_command({**command, "resume": dict.fromkeys(asked, resume)})
    return build_command(command)
