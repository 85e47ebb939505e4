"""The agent behind the page."""

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

from tasks import TaskState, add_task

model = ChatOpenAI(model="gpt-5-mini")

graph = create_agent(model=model, tools=[add_task], state_schema=TaskState, system_prompt="You keep a list of tasks.")
