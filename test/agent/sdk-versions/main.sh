#!/bin/sh
# The official clients, each of its version, against one server with the embedded Postgres.
set -eu
here=test/agent/sdk-versions/clients
port=${SDK_TEST_PORT:-8791}
venv=.run/sdk-venv
url=http://127.0.0.1:$port
mkdir -p .run
npm install --prefix "$here" --no-audit --no-fund --no-package-lock --legacy-peer-deps --silent
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check langgraph-sdk==0.4.14
node src/main.ts dev --config test/agent/wire/graphs/gx.json --port "$port" >.run/sdk-server.log 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || true' EXIT
tries=0
until curl -fs "$url/ok" >/dev/null 2>&1; do
  tries=$((tries + 1))
  if [ "$tries" -gt 60 ]; then cat .run/sdk-server.log; exit 1; fi
  sleep 1
done
for sdk in sdk-1 sdk-2; do
  (cd "$here" && node script.mjs "$sdk" "$url")
  echo "ok: $(node -p "require('./$here/node_modules/$sdk/package.json').version") (npm)"
done
"$venv/bin/python" "$here/script.py" "$url"
echo "ok: 0.4.14 (PyPI)"
