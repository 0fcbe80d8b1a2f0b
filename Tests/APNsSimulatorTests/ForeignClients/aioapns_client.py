"""Pushes with aioapns; prints one JSON object for each answer.

Reads the server and the pushes from standard input, in the format of ForeignClientTests.swift.
"""

import asyncio
import json
import logging
import ssl
import sys
import uuid
from urllib.parse import urlsplit

import aioapns
from aioapns.connection import APNsProductionClientProtocol

scene = json.load(sys.stdin)
logging.getLogger("aioapns").setLevel(logging.CRITICAL)


class Protocol(APNsProductionClientProtocol):
    """The one thing of it that is not configurable: where APNs is."""

    APNS_SERVER = urlsplit(scene["url"]).hostname
    APNS_PORT = urlsplit(scene["url"]).port


def client(key):
    context = ssl.create_default_context(cadata=scene["authority"])
    context.set_alpn_protocols(["h2"])
    made = aioapns.APNs(
        key=key, key_id=scene["keyID"], team_id=scene["teamID"], topic=scene["topic"],
        ssl_context=context, max_connections=1)
    made.pool.protocol_class = Protocol
    return made


async def main():
    good, forged = client(scene["key"]), client(scene["otherKey"])
    for push in scene["pushes"]:
        request = aioapns.NotificationRequest(
            device_token=push["token"], message={"aps": {"alert": "Hello from aioapns"}},
            notification_id=str(uuid.uuid4()), push_type=aioapns.PushType.ALERT)
        result = await (forged if push["isForged"] else good).send_notification(request)
        print(json.dumps({
            "status": int(result.status), "isEchoed": result.notification_id == request.notification_id,
            "reason": result.description, "timestamp": getattr(result, "timestamp", None),
        }), flush=True)
    good.pool.close()
    forged.pool.close()


asyncio.run(main())
