from typing import Annotated, NotRequired

from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel

from harness.agents.model import Local


class Upload(BaseModel):
    path: str


def merge(left: list[Upload] | None, right: list[Upload] | None) -> list[Upload]:
    known = {upload.path: upload for upload in left or []}
    known.update({upload.path: upload for upload in right or []})
    return list(known.values())


class ThreadState(AgentState):
    uploads: NotRequired[Annotated[list[Upload], merge]]


class Uploads(AgentMiddleware[ThreadState]):
    state_schema = ThreadState

    def before_agent(self, state: ThreadState, runtime) -> dict:
        turn = sum(message.type == "human" for message in state["messages"])
        return {"uploads": [Upload(path=f"/mnt/turn-{turn}.txt")]}


def make_lead_agent(config: RunnableConfig):
    """Makes the agent that a request's settings ask for."""
    settings = config.get("configurable", {})
    model = Local(name_of_model=settings.get("model_name") or "small")
    return create_agent(model=model, tools=[], middleware=[Uploads()], state_schema=ThreadState)
