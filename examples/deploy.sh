#!/bin/sh
# Deploys an image through the REST API, waits until it serves, then changes it, which makes a second revision.
#   CONTROL_PLANE_URL=... API_KEY=... sh examples/deploy.sh <name> <image> [<image of the second revision>]
# Set AGENT_URL to call the agent at the end. Needs curl and node.
set -eu

[ $# -ge 2 ] || { sed -n '2,4s/^# \{0,1\}//p' "$0"; exit 1; }
: "${CONTROL_PLANE_URL:?is not set}" "${API_KEY:?is not set}"
name=$1 image=$2 next=${3:-$2}

# request METHOD PATH [BODY]: prints the answer; prints an error and exits if it failed
request() {
  answer=$(curl -sS -X "$1" "$CONTROL_PLANE_URL$2" -H "X-Api-Key: $API_KEY" -H 'content-type: application/json' ${3:+-d "$3"} -w '\n%{http_code}')
  code=$(printf '%s' "$answer" | tail -n 1)
  answer=$(printf '%s' "$answer" | sed '$d')
  case $code in
    2*) printf '%s' "$answer" ;;
    *) echo "$1 $2 answered $code: $answer" >&2; exit 1 ;;
  esac
}

# field PATH: prints a field of the JSON on standard input
field() {
  node -e 'let text = ""; process.stdin.on("data", (piece) => (text += piece)).on("end", () => {
    console.log(process.argv[1].split(".").reduce((value, name) => value?.[name], JSON.parse(text)) ?? "");
  })' "$1"
}

# wait_for DEPLOYMENT REVISION: waits until the revision serves; exits if it failed
wait_for() {
  before=''
  while :; do
    revision=$(request GET "/v2/deployments/$1/revisions/$2")
    status=$(printf '%s' "$revision" | field status)
    [ "$status" = "$before" ] || echo "  $status"
    before=$status
    case $status in
      DEPLOYED) return ;;
      *FAILED | INTERRUPTED | SKIPPED) printf '%s\n' "$revision"; exit 1 ;;
    esac
    sleep 1
  done
}

body=$(node -e 'const [name, image_uri] = process.argv.slice(1); console.log(JSON.stringify({
  name, source: "external_container", source_config: { resource_spec: {} }, source_revision_config: { image_uri },
  secrets: [{ name: "GREETING", value: "hello" }],
}))' "$name" "$image")
echo "POST /v2/deployments: $name from $image"
deployment=$(request POST /v2/deployments "$body")
id=$(printf '%s' "$deployment" | field id)
wait_for "$id" "$(printf '%s' "$deployment" | field latest_revision_id)"

body=$(node -e 'console.log(JSON.stringify({
  source_revision_config: { image_uri: process.argv[1] }, secrets: [{ name: "GREETING", value: "good morning" }],
}))' "$next")
echo "PATCH /v2/deployments/$id: a new secret, $next"
deployment=$(request PATCH "/v2/deployments/$id" "$body")
wait_for "$id" "$(printf '%s' "$deployment" | field latest_revision_id)"

echo "URL: $(request GET "/v2/deployments/$id" | field source_config.custom_url)"
echo "Delete it: curl -X DELETE -H \"X-Api-Key: \$API_KEY\" $CONTROL_PLANE_URL/v2/deployments/$id"

[ -n "${AGENT_URL:-}" ] || exit 0
key=$(request GET "/v2/deployments/$id/key" | field api_key)
curl -sSN "$AGENT_URL/runs/stream" -H "X-Api-Key: $key" -H 'content-type: application/json' \
  -d '{"assistant_id": "echo", "input": {"messages": [{"role": "human", "content": "hello there"}]}, "stream_mode": ["custom", "messages-tuple"]}'
