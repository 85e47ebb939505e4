"""Asks the models of the cases by their providers' packages of LangChain, and prints what a callback hears, as JSON."""

import json
import sys

from langchain_anthropic import ChatAnthropic
from langchain_aws import ChatBedrockConverse
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI, OpenAI

URL, CASES = sys.argv[1], json.loads(sys.argv[2])


def build_model(case, at):
    model, api = case.get("asked", case["model"]), case["api"]
    if api == "openai-chat":
        cache = {"cache": InMemoryCache()} if case.get("repeated") else {}
        return ChatOpenAI(
            model=model, api_key="key", base_url=f"{at}/v1", n=case.get("choices"), stream_usage=True, **cache
        )
    if api == "openai-responses":
        return ChatOpenAI(model=model, api_key="key", base_url=f"{at}/v1", use_responses_api=True)
    if api == "openai-completions":
        return OpenAI(model=model, api_key="key", base_url=f"{at}/v1")
    if api == "anthropic":
        return ChatAnthropic(model=model, api_key="key", base_url=at)
    if api == "gemini":
        return ChatGoogleGenerativeAI(model=model, api_key="key", base_url=at, transport="rest")
    if api == "bedrock":
        keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
        return ChatBedrockConverse(model=model, region_name="us-east-1", endpoint_url=at, **keys)
    return ChatOllama(model=model, base_url=at)


def shorten(generation):
    info = {"generation_info": generation.generation_info} if generation.generation_info else {}
    message = getattr(generation, "message", None)
    if message is None:
        return info
    usage = {"usage_metadata": message.usage_metadata} if message.usage_metadata else {}
    return {**info, "message": {**usage, "response_metadata": message.response_metadata}}


class Ear(BaseCallbackHandler):
    heard = None

    def on_llm_end(self, response, **_):
        generations = [[shorten(one) for one in some] for some in response.generations]
        self.heard = {"output": {"generations": generations, "llm_output": response.llm_output}}


for case in CASES:
    ear = Ear()
    model = build_model(case, f"{URL}/{case['index']}")
    for _ in range(2 if case.get("repeated") else 1):
        if case["streamed"]:
            for _chunk in model.stream("Hi", {"callbacks": [ear]}):
                pass
        else:
            model.invoke("Hi", {"callbacks": [ear]})
    print(json.dumps(ear.heard, default=str), flush=True)
