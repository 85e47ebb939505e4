"""Its class is in states of graphs that import it within a node."""

from pydantic import BaseModel


class Late(BaseModel):
    n: int
