"""The Python twin of documented.ts: routes that describe and check themselves."""

from typing import Annotated

from fastapi import FastAPI, Path
from pydantic import BaseModel, Field


class Team(BaseModel):
    name: Annotated[str, Field(min_length=2)]
    size: int


app = FastAPI()


@app.post("/teams/{place}", status_code=201, operation_id="make_team")
async def make_team(place: Annotated[str, Path(min_length=2, max_length=2)], team: Team) -> Team:
    return Team(name=team.name, size=3)
