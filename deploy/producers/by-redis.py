"""Registers a device and submits a campaign through Redis: python3 by-redis.py ID USER TOKEN"""
import json, os, socket, sys

id, user, token = sys.argv[1:]
server = socket.create_connection((os.environ.get("REDIS_HOST", "127.0.0.1"), os.environ.get("REDIS_PORT", 6379)))

def lpush(name, value):
    words = [b"LPUSH", f"{{{os.environ.get('CARILLON_NAMESPACE', 'carillon')}}}:{name}".encode(), json.dumps(value).encode()]
    server.sendall(b"*3\r\n" + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
    reply = server.recv(1000)
    if not reply.startswith(b":"):
        sys.exit(f"Redis: {reply.decode()}")

lpush("registrations", {"op": "register", "user": user, "token": token, "app": "news", "locale": "en"})
lpush("campaigns", {"id": id, "app": "news", "audience": {"users": [user]}, "message": {"body": "Hello from Python"}})
