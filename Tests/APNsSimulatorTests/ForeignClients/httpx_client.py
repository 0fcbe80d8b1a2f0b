"""Pushes with httpx, HTTP/2 and a provider token of PyJWT's; prints one JSON object for each answer.

Reads the server and the pushes from standard input, in the format of ForeignClientTests.swift.
"""

import json
import ssl
import sys
import time
import uuid

import httpx
import jwt

scene = json.load(sys.stdin)


def provider_token(key):
    return jwt.encode(
        {"iss": scene["teamID"], "iat": int(time.time())},
        key, algorithm="ES256", headers={"kid": scene["keyID"]})


good, forged = provider_token(scene["key"]), provider_token(scene["otherKey"])
context = ssl.create_default_context(cadata=scene["authority"])
with httpx.Client(http2=True, verify=context, base_url=scene["url"]) as client:
    for push in scene["pushes"]:
        push_id = str(uuid.uuid4())
        response = client.post(
            "/3/device/" + push["token"],
            json={"aps": {"alert": "Hello from httpx"}},
            headers={
                "authorization": "bearer " + (forged if push["isForged"] else good),
                "apns-topic": scene["topic"], "apns-push-type": "alert", "apns-id": push_id,
            })
        body = response.json() if response.content else {}
        print(json.dumps({
            "status": response.status_code, "isEchoed": response.headers.get("apns-id") == push_id,
            "reason": body.get("reason"), "timestamp": body.get("timestamp"),
            "version": response.http_version,
        }), flush=True)
