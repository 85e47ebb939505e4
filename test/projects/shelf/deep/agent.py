from deepagents import create_deep_agent
from langchain_core.tools import tool

from model import Local


@tool
def look_up(words: str) -> str:
    """Looks words up."""
    return f"{words}: nothing"


finder = {
    "name": "finder",
    "description": "Finds things",
    "system_prompt": "You find things.",
    "tools": [look_up],
    "model": Local(helps=True),
}

agent = create_deep_agent(model=Local(), tools=[], subagents=[finder], system_prompt="You ask your helper.")
