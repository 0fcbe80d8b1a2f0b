"""Clients that use as many resources of `carillon admin` as they can: 1,000 silent clients, clients that never read
their answers, clients that send one byte a second, and bodies without an end. A modest client sends small requests at
the same time. GreedyClientTests runs:

    greedy.py PORT PID TOKEN CAMPAIGN

Each kind of client has its own address (127.0.0.0/8 is local), because the server also limits each address. Prints one
JSON object: seconds until the server closed the connections of each kind, the longest wait of the modest client in
seconds, and memory in kB.
"""

import json
import os
import resource
import selectors
import socket
import sys
import time

PORT, PID, TOKEN, CAMPAIGN = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
FIGURES = {"honest": 0.0}


def memory(name):
    with open(f"/proc/{PID}/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    FIGURES[name] = int(lines["VmRSS"].split()[0])
    FIGURES["peak"] = int(lines["VmHWM"].split()[0])


def connect(source, most=None):
    client = socket.socket()
    if most:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, most)
    client.bind((source, 0))
    client.settimeout(20)
    client.connect(("127.0.0.1", PORT))
    return client


def descriptors():
    return len(os.listdir(f"/proc/{PID}/fd"))


def request(method, path, more=""):
    return f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n{more}\r\n".encode()


def answer(client):
    data = b""
    while True:
        try:
            piece = client.recv(65536)
        except ConnectionResetError:
            break
        if not piece:
            break
        data += piece
    return data


def honest():
    """Sends a small request on a new connection and records the time until the answer."""
    start = time.monotonic()
    with connect("127.0.0.9") as client:
        client.sendall(request("GET", "/api/v1/me", "Connection: close\r\n"))
        assert answer(client).startswith(b"HTTP/1.1 200"), "an honest request is not answered"
    FIGURES["honest"] = max(FIGURES["honest"], time.monotonic() - start)


class Crowd:
    """Clients of one kind, and the time until the server has closed all of them."""

    def __init__(self, name, clients):
        self.name, self.left, self.start = name, set(clients), time.monotonic()
        FIGURES[name + "Begun"] = len(self.left)

    def gone(self, client):
        self.left.discard(client)
        client.close()
        FIGURES[self.name] = round(time.monotonic() - self.start, 1)

    def drip(self, letter):
        for client in list(self.left):
            try:
                client.send(letter, socket.MSG_DONTWAIT)
            except BlockingIOError:
                pass
            except OSError:
                self.gone(client)

    def look(self):
        """Removes the clients whose connection the server has closed."""
        for client in list(self.left):
            try:
                if not client.recv(65536, socket.MSG_DONTWAIT):
                    self.gone(client)
            except BlockingIOError:
                pass
            except OSError:
                self.gone(client)


class Deaf(Crowd):
    """Clients that read nothing. The end of the connection comes behind the unread bytes, so they can't see it.

    The number of the server's descriptors shows it instead.
    """

    def __init__(self, name, clients, before):
        super().__init__(name, clients)
        self.before, self.others = before, []

    def look(self):
        if descriptors() <= self.before + sum(len(crowd.left) for crowd in self.others):
            for client in list(self.left):
                self.gone(client)


def until_gone(crowds, limit, drips=()):
    deadline = time.monotonic() + limit
    while any(crowd.left for crowd in crowds):
        assert time.monotonic() < deadline, {crowd.name: len(crowd.left) for crowd in crowds}
        # The slow clients send one byte in each round, and the round also checks the state of every client.
        selectors.DefaultSelector().select(1.0)
        for crowd in crowds:
            crowd.look()
        for crowd, letter in drips:
            crowd.drip(letter)
        honest()


def main():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    # Makes the server allocate the memory that it allocates only the first time.
    for _ in range(3):
        with connect("127.0.0.9") as client:
            client.sendall(request("GET", f"/api/v1/campaigns/{CAMPAIGN}/results", "Connection: close\r\n"))
            FIGURES["result"] = len(answer(client))
    honest()
    memory("before")

    # Bodies above the limit, with and without an announced length.
    with connect("127.0.0.9") as client:
        client.sendall(request("POST", "/api/v1/campaigns", "Content-Length: 9999999999\r\n"))
        assert answer(client).startswith(b"HTTP/1.1 413")
    with connect("127.0.0.9") as client:
        client.sendall(request("POST", "/api/v1/campaigns", "Transfer-Encoding: chunked\r\n"))
        piece, sent = b"10000\r\n" + b" " * 0x10000 + b"\r\n", 0
        try:
            while sent < 1 << 30:
                client.sendall(piece)
                sent += len(piece)
        except OSError:
            pass
        FIGURES["endless"] = sent
        assert sent < 32 << 20, "an endless body is read for ever"
    honest()

    before = descriptors()
    streams = Deaf("streams", [connect("127.0.0.3", most=4096) for _ in range(25)], before)
    for client in streams.left:
        client.sendall(request("GET", f"/api/v1/campaigns/{CAMPAIGN}/results"))
    idle = Crowd("idle", [connect("127.0.0.2") for _ in range(1000)])
    headers = Crowd("headers", [connect("127.0.0.4") for _ in range(60)])
    for client in headers.left:
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX: ")
    bodies = Crowd("bodies", [connect("127.0.0.5") for _ in range(60)])
    for client in bodies.left:
        client.sendall(request("POST", "/api/v1/campaigns", "Content-Length: 1000000\r\n"))
        client.settimeout(2)
        try:
            client.sendall(b" " * 900_000)
        except OSError:
            pass
    # All kinds at the same time: the server closes each kind because of a different limit.
    streams.others = [idle, headers, bodies]
    until_gone([idle, streams, headers, bodies], 90, [(headers, b"x"), (bodies, b" ")])
    honest()
    memory("after")
    print(json.dumps(FIGURES))


main()
