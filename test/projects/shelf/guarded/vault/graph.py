from operator import add
from typing import Annotated

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_store
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel, Field


class Secret(BaseModel):
    words: str
    length: int = 0


class Vault(BaseModel):
    put: str = ""
    secrets: Annotated[list[Secret], add] = Field(default_factory=list)
    owner: str | None = None


async def keep(state: Vault, config: RunnableConfig) -> dict:
    user = config["configurable"]["langgraph_auth_user"]
    secret = Secret(words=state.put, length=len(state.put))
    await get_store().aput((user.identity, "secrets"), str(len(state.secrets)), secret.model_dump())
    return {"secrets": [secret], "owner": user.identity}


graph = StateGraph(Vault).add_node("keep", keep).add_edge(START, "keep").add_edge("keep", END).compile()
