"""Submits a campaign through HTTP: CARILLON_TOKEN=carillon_… python3 by-http.py ID USER"""
import json, os, sys, urllib.error, urllib.request

id, user = sys.argv[1:]
job = {"id": id, "app": "news", "audience": {"users": [user]}, "message": {"body": "Hello from Python"}}
request = urllib.request.Request(
    os.environ.get("CARILLON_URL", "http://127.0.0.1:8080") + "/api/v1/campaigns", json.dumps(job).encode(),
    {"Authorization": "Bearer " + os.environ["CARILLON_TOKEN"], "Content-Type": "application/json"})
try:
    with urllib.request.urlopen(request, timeout=10) as answer:
        print(answer.status, answer.read().decode())
except urllib.error.HTTPError as error:
    # A refusal has a body by RFC 9457 with the error and a hint.
    sys.exit(f"{error.code} {error.read().decode()}")
