from langchain.agents import AgentState
from langchain.messages import ToolMessage
from langchain.tools import ToolRuntime, tool
from langgraph.types import Command
from typing import NotRequired


class TaskState(AgentState):
    tasks: NotRequired[list[str]]


@tool
def add_task(title: str, runtime: ToolRuntime) -> Command:
    """Puts a task on the list."""
    tasks = [*runtime.state.get("tasks", []), title]
    said = ToolMessage(f"{len(tasks)} on the list", tool_call_id=runtime.tool_call_id)
    return Command(update={"tasks": tasks, "messages": [said]})
