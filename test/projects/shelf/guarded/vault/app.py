from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from starlette.middleware.base import BaseHTTPMiddleware


@asynccontextmanager
async def lifespan(app: FastAPI):
    app.state.opened = ["db"]
    yield
    app.state.opened.clear()


app = FastAPI(lifespan=lifespan)


class Stamp(BaseHTTPMiddleware):
    async def dispatch(self, request: Request, call_next):
        response = await call_next(request)
        response.headers["x-vault"] = "stamped"
        return response


app.add_middleware(Stamp)


@app.get("/health")
def health(request: Request) -> dict[str, list[str]]:
    return {"opened": request.app.state.opened}
