#!/bin/sh
# A campaign, by HTTP: CARILLON_TOKEN=carillon_… sh by-http.sh ID USER
set -eu
# The token does not stand among the arguments, which everybody on this machine can read: @- takes the header from standard
# input. With --fail-with-body a refusal is shown (RFC 9457: what is wrong, what to do) and exits 22.
job=$(jq -cn --arg id "$1" --arg user "$2" \
  '{id: $id, app: "news", audience: {users: [$user]}, payload: {aps: {alert: "Hello from a shell"}}}')
printf 'Authorization: Bearer %s' "$CARILLON_TOKEN" |
  curl --silent --show-error --fail-with-body --max-time 10 --header @- --header 'Content-Type: application/json' \
    --data "$job" "${CARILLON_URL:-http://127.0.0.1:8080}/api/v1/campaigns"
