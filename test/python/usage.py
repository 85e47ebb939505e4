"""Reads recorded answers of models, as LangChain's callbacks heard them, and prints what each tells, as JSON."""

import json
import sys

from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, Generation, LLMResult

from gx_runner.telemetry.usage import read_answer_usage


def build_result(output):
    def build(one):
        if "message" not in one:
            return Generation(text="", generation_info=one.get("generation_info"))
        message = AIMessage(content="", response_metadata=one["message"]["response_metadata"])
        # Recorded counts are not checked again: an answer from a cache has more fields than the class knows.
        message.usage_metadata = one["message"].get("usage_metadata")
        return ChatGeneration(message=message, generation_info=one.get("generation_info"))

    generations = [[build(one) for one in some] for some in output["generations"]]
    return LLMResult(generations=generations, llm_output=output["llm_output"])


recorded = json.load(open(sys.argv[1]))
print(json.dumps([read_answer_usage(build_result(one["python"]["output"])) for one in recorded]))
