#!/bin/sh
# Registers a device and submits a campaign through Redis: sh by-redis.sh ID USER TOKEN
set -eu
# jq writes the JSON, so that an id or a text can't break it. redis-cli -x reads the last argument from standard input.
lpush() { redis-cli -e -h "${REDIS_HOST:-127.0.0.1}" -p "${REDIS_PORT:-6379}" -x LPUSH "{${CARILLON_NAMESPACE:-carillon}}:$1"; }

jq -cjn --arg user "$2" --arg token "$3" \
  '{op: "register", user: $user, token: $token, app: "news", locale: "en"}' | lpush registrations
jq -cjn --arg id "$1" --arg user "$2" \
  '{id: $id, app: "news", audience: {users: [$user]}, message: {body: "Hello from a shell"}}' | lpush campaigns
