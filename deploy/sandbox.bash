# shellcheck shell=bash
# Starts a private Redis and simulator for a script: in a private folder, on free ports, and removed when the script
# ends. Sourced by demo/run.
#
# Expects $CARILLON (the binary). Sets $sandbox (the folder), $redis_port, $apns_port, $fcm_port, $control_port.

sandbox=
redis_port=
apns_port=
fcm_port=
control_port=
# The script sends signals only to processes that it started itself.
started=()

open_sandbox() { # name
  sandbox=$(mktemp -d "${TMPDIR:-/tmp}/carillon-$1.XXXXXX")
  chmod 700 "$sandbox"
  trap close_sandbox EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

close_sandbox() {
  local status=$? pid
  trap - EXIT
  trap '' INT TERM
  # Latest first: workers, then the simulator, then Redis.
  for ((i = ${#started[@]} - 1; i >= 0; i--)); do
    pid=${started[i]}
    is_running "$pid" || continue
    kill -TERM "$pid"
    for _ in {1..100}; do
      is_running "$pid" || continue 2
      sleep 0.05
    done
    kill -KILL "$pid"
  done
  if ((status != 0)) && [[ -n ${KEEP_SANDBOX:-} ]]; then
    echo "kept for inspection: $sandbox" >&2
  else
    rm -rf "$sandbox"
  fi
  exit "$status"
}

# Uses the shell's list of its children, because the kernel may have given the process id to another process.
is_running() { [[ $'\n'$(jobs -rp)$'\n' == *$'\n'"$1"$'\n'* ]]; }

fail() {
  echo "$0: $*" >&2
  exit 1
}

# Waits until the command succeeds, as long as the process lives.
wait_for() { # pid, seconds, what is waited for, command...
  local pid=$1 deadline=$((SECONDS + $2)) what=$3
  shift 3
  until "$@" >/dev/null 2>&1; do
    is_running "$pid" || return 1
    ((SECONDS < deadline)) || fail "waited in vain for $what"
    sleep 0.05
  done
}

redis() { redis-cli -h 127.0.0.1 -p "$redis_port" "$@"; }

# Starts Redis with production settings: no eviction, and an append-only file that is synced every second.
start_redis() {
  mkdir "$sandbox/redis"
  local attempt pid
  for attempt in {1..20}; do
    # Below the range of ephemeral ports.
    redis_port=$((20000 + RANDOM % 12000))
    redis-server --port "$redis_port" --bind 127.0.0.1 --dir "$sandbox/redis" --save '' \
      --appendonly yes --appendfsync everysec --maxmemory-policy noeviction >"$sandbox/redis.log" 2>&1 &
    pid=$!
    started+=("$pid")
    # Compares the process id, so that another server on this port is not used.
    if wait_for "$pid" 20 "Redis on port $redis_port" redis_is "$pid"; then
      # shellcheck disable=SC2034  # read by the scripts that source this
      redis_pid=$pid
      return
    fi
    unset 'started[-1]'
  done
  fail "no Redis after $attempt attempts: $(tail -n 3 "$sandbox/redis.log")"
}

redis_is() { [[ $(redis info server | tr -d '\r' | sed -n 's/^process_id://p') == "$1" ]]; }

# Creates keys and certificates, starts the simulator, and points the app `shop` at it with environment variables.
start_simulator() { # options of simulate...
  "$CARILLON" simulate --init "$sandbox/simulator" >"$sandbox/simulator-init.log" 2>&1 ||
    fail "simulate --init: $(cat "$sandbox/simulator-init.log")"
  "$CARILLON" simulate --directory "$sandbox/simulator" --port 0 --control-port 0 "$@" \
    >"$sandbox/simulator.ndjson" 2>"$sandbox/simulator.log" &
  simulator_pid=$!
  started+=("$simulator_pid")
  wait_for "$simulator_pid" 20 'the simulator' grep -q '"listening"' "$sandbox/simulator.ndjson" ||
    fail "the simulator did not start: $(tail -n 3 "$sandbox/simulator.log")"
  local listening
  listening=$(jq -c 'select(.event == "listening")' "$sandbox/simulator.ndjson" | head -n 1)
  apns_port=$(jq -r .port <<<"$listening")
  fcm_port=$(jq -r .fcmPort <<<"$listening")
  control_port=$(jq -r .controlPort <<<"$listening")

  export CARILLON_CONFIG=$sandbox/simulator/carillon.yaml
  export CARILLON_REDIS_URL=redis://127.0.0.1:$redis_port/0
  export CARILLON_APPS_SHOP_APNS_ENDPOINT=https://127.0.0.1:$apns_port
  export CARILLON_APPS_SHOP_FCM_ENDPOINT=https://127.0.0.1:$fcm_port
  # The service account contains the address of the token endpoint.
  local account=$sandbox/simulator/service-account.json
  (umask 077 && jq --arg port "$(jq -r .tokenPort <<<"$listening")" \
    '.token_uri = "https://127.0.0.1:\($port)/token"' "$account" >"$account.new")
  mv "$account.new" "$account"
}

# Sends a request to the simulator's control API.
control() { # path, curl options...
  local path=$1
  shift
  curl --silent --show-error --fail --http2 --cacert "$sandbox/simulator/ca.pem" \
    "https://127.0.0.1:$control_port$path" "$@"
}

# Generates the devices for Carillon and for the simulator, the same on every machine.
#
# Writes devices.csv (for `devices import`), apns.csv and fcm.csv (for the simulator), users and optedout (for `segment
# import`) and expected.json (the expected results of a campaign to `everyone & !optedout`, by service) to the sandbox.
# Every fourth user has a second device until the rows are used up. Two of five devices are Android. 3 % are
# unregistered, 1 % bad; 5 % of users opted out.
generate_devices() { # rows, users
  awk -v rows="$1" -v users="$2" -v folder="$sandbox" '
    # A linear congruential generator (Numerical Recipes). Its product is below 2^53, so awk computes it exactly.
    function draw() { state = (1664525 * state + 1013904223) % 4294967296; return int(state / 65536) }
    function results(service) {
      return sprintf("{\"targets\":%d,\"accepted\":%d,\"unregistered\":%d,\"badToken\":%d}", targets[service],
        count[service, "registered"], count[service, "unregistered"], count[service, "bad"])
    }
    BEGIN {
      state = 20260101
      split("en de fr es ja", locale, " ")
      devices = folder "/devices.csv"; apns = folder "/apns.csv"; fcm = folder "/fcm.csv"
      print "user,token,app,service,environment,locale,appVersion,registeredAt" > devices
      for (row = 0; row < rows; row++) {
        user = row < users ? row : ((row - users) * 4) % users
        token = ""
        for (i = 0; i < 14; i++) token = token sprintf("%04x", draw())
        token = token sprintf("%08x", row)
        kind = draw() % 100
        state_name = kind < 3 ? "unregistered" : kind < 4 ? "bad" : "registered"
        service = draw() % 5 < 2 ? "fcm" : "apns"
        if (service == "fcm") token = "c" substr(token, 1, 21) ":APA91b" token
        printf "u%d,%s,shop,%s,production,%s,5.%d,2026-01-01T00:00:00Z\n", \
          user, token, service, locale[draw() % 5 + 1], draw() % 4 > devices
        if (service == "fcm") {
          printf "%s,%s\n", token, state_name == "bad" ? "malformed" : state_name > fcm
        } else {
          # Unregistered since 2026-02-01, which is after the registration.
          printf "%s,%s,com.example.shop,%s\n", token, state_name, state_name == "unregistered" ? "1769904000000" : "" > apns
        }
        if (user % 20 != 0) { targets[service]++; count[service, state_name]++ }
      }
      for (user = 0; user < users; user++) {
        print "u" user > (folder "/users")
        if (user % 20 == 0) print "u" user > (folder "/optedout")
      }
      printf "{\"targets\":%d,\"apns\":%s,\"fcm\":%s}\n", targets["apns"] + targets["fcm"], results("apns"), \
        results("fcm") > (folder "/expected.json")
    }'
}

# Prints the peak memory of a process in MiB.
peak_memory() { awk '/^VmHWM:/ { printf "%.1f", $2 / 1024 }' "/proc/$1/status"; }

# Prints the seconds between two RFC 3339 times.
seconds_between() { awk -v a="$(date -d "$1" +%s.%N)" -v b="$(date -d "$2" +%s.%N)" 'BEGIN { printf "%.3f", b - a }'; }
