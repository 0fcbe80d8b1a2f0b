#!/bin/sh
# Submits a campaign through HTTP: CARILLON_TOKEN=carillon_… sh by-http.sh ID USER
set -eu
# All users of this machine can read arguments, so the token is not one of them: @- reads the header from standard input.
# With --fail-with-body, curl prints a refusal (RFC 9457: error and hint) and exits with 22.
job=$(jq -cn --arg id "$1" --arg user "$2" \
  '{id: $id, app: "news", audience: {users: [$user]}, message: {body: "Hello from a shell"}}')
printf 'Authorization: Bearer %s' "$CARILLON_TOKEN" |
  curl --silent --show-error --fail-with-body --max-time 10 --header @- --header 'Content-Type: application/json' \
    --data "$job" "${CARILLON_URL:-http://127.0.0.1:8080}/api/v1/campaigns"
