"""Follows the stream of outcomes and prunes: python3 events.py GROUP CONSUMER [--once]

Prints a line of JSON for each, with its kind in front. A group has read what any of its consumers has acknowledged; a
consumer that comes back begins with what it had not. --once ends when there is nothing left.
"""
import os, socket, sys

group, consumer = sys.argv[1:3]
once = "--once" in sys.argv
stream = f"{{{os.environ.get('CARILLON_NAMESPACE', 'carillon')}}}:events"
server = socket.create_connection((os.environ.get("REDIS_HOST", "127.0.0.1"), os.environ.get("REDIS_PORT", 6379)))
replies = server.makefile("rb")


def read():
    line = replies.readline()[:-2]
    kind, rest = line[:1], line[1:]
    if kind == b"-":
        raise RuntimeError(rest.decode())
    if kind == b"$":
        return None if rest == b"-1" else replies.read(int(rest) + 2)[:-2].decode()
    if kind == b"*":
        return None if rest == b"-1" else [read() for _ in range(int(rest))]
    return rest.decode()


def redis(*words):
    words = [str(word).encode() for word in words]
    server.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
    return read()


def handle(kind, json):
    # Into the warehouse: by campaign, token and outcome, as an outcome may come twice after a worker's death.
    print(kind, json, flush=True)


try:
    redis("XGROUP", "CREATE", stream, group, "0", "MKSTREAM")
except RuntimeError as error:
    if "BUSYGROUP" not in str(error):
        raise

start = "0"  # first what this consumer was given and has not acknowledged
while True:
    wait = [] if once or start == "0" else ["BLOCK", 5000]
    answer = redis("XREADGROUP", "GROUP", group, consumer, "COUNT", 500, *wait, "STREAMS", stream, start)
    entries = answer[0][1] if answer else []
    for _, fields in entries:
        # Cut off by the stream's length before it was read: gone.
        if fields:
            values = dict(zip(fields[::2], fields[1::2]))
            handle(values["kind"], values["json"])
    if entries:
        redis("XACK", stream, group, *[id for id, _ in entries])
    elif start == "0":
        start = ">"
    elif once:
        break
