"""Sends with firebase-admin; prints one JSON object for each message.

Reads the service account, the address and the messages from standard input, in the format of
FirebaseAdminTests.swift. The library is unchanged except for its address of FCM. REQUESTS_CA_BUNDLE and SSL_CERT_FILE
name the authority.
"""

import asyncio
import json
import sys

import firebase_admin
from firebase_admin import credentials, messaging

scene = json.load(sys.stdin)
messaging._MessagingService.FCM_URL = scene["url"]
firebase_admin.initialize_app(credentials.Certificate(scene["account"]))


def message(push):
    if "topic" in push:
        return messaging.Message(topic=push["topic"], data={"k": "v"})
    return messaging.Message(
        token=push["token"],
        data={"push": "1"},
        notification=messaging.Notification(title="Hello", body="from firebase-admin"),
        android=messaging.AndroidConfig(
            collapse_key="k", priority="high", ttl=3600,
            notification=messaging.AndroidNotification(
                tag="t", color="#00ff00", visibility="public", priority="high", notification_count=1,
                vibrate_timings_millis=[100, 250],
                light_settings=messaging.LightSettings(
                    color="#ff0000", light_on_duration_millis=200, light_off_duration_millis=300))),
        apns=messaging.APNSConfig(
            headers={"apns-priority": "10"}, payload=messaging.APNSPayload(aps=messaging.Aps(badge=1))),
        webpush=messaging.WebpushConfig(headers={"TTL": "60"}),
        fcm_options=messaging.FCMOptions(analytics_label="test"))


def report(name, error):
    print(json.dumps({"name": name, "error": type(error).__name__ if error else None,
                      "text": str(error) if error else None}), flush=True)


for push in scene["pushes"]:
    try:
        report(messaging.send(message(push), dry_run=push.get("isDry", False)), None)
    except firebase_admin.exceptions.FirebaseError as error:
        report(None, error)
many = [message(scene["pushes"][0]) for _ in range(50)]
for responses in [messaging.send_each(many[:5]), asyncio.run(messaging.send_each_async(many, dry_run=False))]:
    print(json.dumps({"success": responses.success_count, "failure": responses.failure_count}), flush=True)
