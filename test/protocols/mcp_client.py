"""The official Python client of MCP against the server at the address that is given: lists, calls, is asked, goes on."""

import asyncio
import sys

from mcp import Client, types


async def answer(_context, params):
    assert "May I go?" in params.message, params
    return types.ElicitResult(action="accept", content={"answer": "yes"})


async def play(url, mode):
    async with Client(url, mode=mode) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert "chat" in tools and "approval" in tools, tools
        result = await client.call_tool("chat", {"messages": [{"role": "user", "content": "hello"}]})
        contents = [message["content"] for message in result.structured_content["messages"]]
        assert contents == ["hello", "I hear you well."] and not result.is_error, result
        picture = {"type": "image", "mimeType": "image/png", "data": "iVBORw=="}
        copied = await client.call_tool("copies", {"messages": [{"role": "user", "content": [picture]}]})
        assert isinstance(copied.content[1], types.ImageContent) and copied.content[1].data == "iVBORw==", copied
        failed = await client.call_tool("test_error_handling", {})
        assert failed.is_error and "intentionally" in failed.content[0].text, failed
        heard = []

        async def hear(progress, _total, message):
            heard.append((progress, message))

        await client.call_tool("test_tool_with_progress", {}, progress_callback=hear)
        assert [message for _, message in heard] == ["started", "begin", "go_on", "finish"], heard
        waiting = await client.call_tool("approval", {"request": "go"})
        assert "__interrupt__" in waiting.structured_content and "thread_id" in waiting.structured_content, waiting


async def play_questions(url):
    async with Client(url, elicitation_callback=answer) as client:
        result = await client.call_tool("approval", {"request": "go"})
        assert result.structured_content == {"request": "go", "answer": "yes"}, result


async def main(url):
    for mode in ("legacy", "auto"):
        await play(url, mode)
    await play_questions(url)


asyncio.run(main(sys.argv[1]))
