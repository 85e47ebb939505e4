# An agent as its author writes it: the base image, gx.json and code. The examples need no package beyond LangGraph, which the
# base image has; an agent with packages of its own adds
# `RUN npm ci && node /app/src/main.ts agent-build && npm prune --omit=dev`. Graphs in Python begin with gx-agent-server-python, and with
# packages of their own they add `RUN uv pip install --requirement requirements.txt`.
ARG AGENT_SERVER=registry.invalid/gx/gx-agent-server:latest
FROM ${AGENT_SERVER}
COPY . .
