"""Reads texts by python-dotenv, as JSON from standard input: the environment, then the texts."""

import io
import json
import logging
import os
import sys

from dotenv.main import DotEnv

logging.disable()
environment, texts = json.load(sys.stdin)
os.environ.clear()
os.environ.update(environment)
for text in texts:
    # Files are opened so.
    stream = io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")
    found = DotEnv(None, stream=stream).dict()
    print(json.dumps([[name, value] for name, value in found.items() if value is not None]))
