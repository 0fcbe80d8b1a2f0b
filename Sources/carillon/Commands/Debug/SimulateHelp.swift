/// What `carillon simulate --help` says below its first line. Lines of at most 80 columns, which is where help wraps.
enum SimulateHelp {
  static let discussion = """
    --init writes what it needs into a folder: certificates, a signing key, and a \
    carillon.yaml that points the app news at it. It prints one JSON object a line: \
    first where it listens, at the end what it counted. SIGTERM or SIGINT ends it.

    --log appends a line for every push that was received in full, before its answer \
    leaves: milliseconds since 1970, connection, stream, device token, apns-id, status \
    (a dash for what was not there), and with --log-bodies what the push said, a line \
    feed in it as a blank. When the file can't be written any more, nothing is \
    answered any more, and the command fails.

    For any sender: push to https://127.0.0.1:PORT/3/device/TOKEN, trust ca.pem, and \
    either sign with AuthKey_SIMULATOR1.p8 (key id SIMULATOR1, team SIMULATION, any \
    topic) or show push.pem (topic com.example.news). push-sandbox.pem is for the \
    wrong environment, push-expired.pem is too old: see how your sender takes it. \
    Broadcasts and channels are served on the same port.

    Out of the box it does what APNs was seen to do: one stream until the first \
    accepted push and then 1000, one again with an expired provider token; the \
    provider token may change once at will and then every 20 minutes; topics go with \
    their push type. As long as nobody loads any, all devices are registered.

    Everything hostile is a knob, turned by --knob and --knobs, by the control API, or \
    over time by --timeline. Shares go from 0 to 1; 0 turns a knob off.
     Answers
      failures            [{"share":0.01,"status":503,
                          "reason":"ServiceUnavailable"}]; also "topic",
                          "tokenPrefix"; "delivers":true for a 500 that arrived
      tokenFailures       [{"token":"ab","status":429,
                          "reason":"TooManyRequests","times":2}]
      unknownTokens       accept or bad
      tokenBurst          pushes a device token gets at once, then 429; one more
                          every tokenRefillMilliseconds
      mismatchedTopic     topicDisallowed, badTopic or accept
      spellings           {"BadEnvironmentKeyIdInToken":"BadEnvironmentKeyInToken"}
      interimStatus       103 before every answer, say; sendsTrailers behind it
      bodyForm            json, broken or empty; tellsTimestamp, sendsID, raisesID,
                          sendsUniqueID, retryAfterSeconds, rejectsUrgentBackground,
                          enablesBroadcast
     Time
      latencyMilliseconds, latencySpreadMilliseconds, stallShare,
      stallMilliseconds, answersPerSecond (on one connection)
     Streams
      streamLimit         MAX_CONCURRENT_STREAMS of every connection, at once
      limitDropsOnRejection   one stream again after a 4xx other than 410
      refusedShare        REFUSED_STREAM; resetShare: INTERNAL_ERROR after the
                          request; withheldShare: no answer ever
      streamWindow, maxFrameSize, bodyPieceBytes (in one DATA frame)
      grantsWindow        false: no WINDOW_UPDATE ever, so bodies stall
     Connections
      errorBudget         points until GOAWAY; a rejection is one, a BadDeviceToken
                          badTokenPoints, a 410 none
      goAwayAfterRequests, goAwayUnprocessed, goAwayForm (json, text, empty),
      goAwayError, repeatsGoAway, lingersAfterGoAway, idleSeconds, connectionSeconds,
      resetAfterRequests, closeAfterRequests, silentAfterRequests,
      connectResetShare, connectsPerMinute, handshakeDelayMilliseconds,
      settingsDelayMilliseconds, showsUntrustedCertificate, answersALPN,
      answersPings
     Authentication
      certificateAlert    none, expired, revoked or unknownAuthority
      refusesCertificateByGoAway   the wrong environment; else 403
      revokedKeys         ["ABC123DEFG"]
      clockSkewSeconds, providerTokenSeconds, tokenUpdateSeconds,
      limitsTokenUpdatesByAddress, acceptsDERSignatures
     Counting
      tracksDuplicates, tracksCollapse

    The control API speaks JSON over HTTP/2 on --control-port, trusted by ca.pem:
      GET /counters       accepted, delivered, stored, reasons, duplicates, faults
      POST /reset         begins to count anew; ?devices=true forgets devices too
      GET /knobs, PUT /knobs
      POST /devices       lines of token,state,topic,timestamp,environment, or
                          objects with these names; a state is registered,
                          unregistered, expired, bad or wrongTopic
      POST /offline, POST /online   device tokens, one a line: pushes wait for
                          them, the newest of each topic
      POST /timeline      [{"at":5,"every":10,"knobs":{"streamLimit":1}},
                          {"at":60,"action":"goAway"}], in seconds
      POST /goaway, GET /health

    Examples:
      carillon simulate --init sim
      carillon simulate --directory sim --latency 20ms --knob refusedShare=0.05
      carillon --config sim/carillon.yaml \\
        send --app news --token 00ff '{"aps":{"alert":"Hello"}}'
      curl --http2 --cacert sim/ca.pem --cert sim/push.pem \\
        -H 'apns-topic: com.example.news' -d '{"aps":{"alert":"Hello"}}' \\
        https://127.0.0.1:2197/3/device/00ff
      curl --http2 --cacert sim/ca.pem https://127.0.0.1:2198/counters
      curl --http2 --cacert sim/ca.pem -X PUT -d '{"streamLimit":1}' \\
        https://127.0.0.1:2198/knobs
    """
}
