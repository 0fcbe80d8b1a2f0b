/// The discussion in `carillon simulate --help`. Preformatted lines have at most 79 columns, because help wraps at 80.
enum SimulateHelp {
  static let discussion = """
    --init writes the needed files into a folder: certificates, a signing key, a \
    service account, and a carillon.yaml with the apps news (APNs), android (FCM) and \
    shop (both). carillon.yaml contains the ports. If you give --init a port option, give \
    --directory the same one. The command prints one JSON object per line: at the start its \
    ports, at the end its counters. SIGTERM or SIGINT ends it within 5 s.

    --log adds a line for every push before the simulator sends the answer. The line has: milliseconds since 1970, \
    connection, stream, device token, apns-id, status (a dash for a missing value). With --log-bodies the line ends \
    with the payload; line feeds become spaces. If the file can't be written, the simulator stops answering, and the \
    command fails.

    Any sender can push to https://127.0.0.1:PORT/3/device/TOKEN. It must trust ca.pem \
    and either sign with AuthKey_SIMULATOR1.p8 (key id SIMULATOR1, team SIMULATION, \
    any topic) or use the certificate push.pem (topic com.example.news). Use \
    push-sandbox.pem (wrong environment) and push-expired.pem (expired) to test the \
    errors. Broadcasts and channels are served on the same port.

    By default the simulator behaves like APNs. A connection has one stream until the first push is accepted, and then \
    1000 streams. After an expired provider token it has one stream again. The provider token may change once at any \
    time, and after that at most every 20 minutes. The topic must match the push type. All devices are registered \
    until you load a list of devices.

    FCM is on --fcm-port, POST /v1/projects/simulator-project/messages:send, over \
    HTTP/2 and HTTP/1.1. Google's token endpoint is on --token-port, POST /token. A \
    sender uses service-account.json and trusts ca.pem. By default every registration \
    token is accepted. A connection has 100 streams. The simulator closes a connection \
    with more streams, or with a third PING in a row without a request.

    A knob is a setting of the simulator, for example for one kind of fault. Set knobs \
    with --knob, --knobs or the control API, or over time with --timeline. Shares are \
    from 0 to 1; 0 turns a knob off.
     Answers
      failures            [{"share":0.01,"status":503,
                          "reason":"ServiceUnavailable"}]; also "topic",
                          "tokenPrefix"; with "delivers":true the device gets
                          the push in spite of the error
      tokenFailures       [{"token":"ab","status":429,
                          "reason":"TooManyRequests","times":2}]
      unknownTokens       accept or bad
      tokenBurst          pushes of a device token before 429; one more is allowed
                          every tokenRefillMilliseconds
      mismatchedTopic     topicDisallowed, badTopic or accept
      spellings           {"BadEnvironmentKeyIdInToken":"BadEnvironmentKeyInToken"}
      interimStatus       status before every answer, such as 103
      bodyForm            json, broken or empty
      sendsTrailers, reportsTimestamp, sendsID, raisesID, sendsUniqueID,
      retryAfterSeconds, rejectsUrgentBackground, enablesBroadcast
     Time
      latencyMilliseconds, latencySpreadMilliseconds, stallShare,
      stallMilliseconds, answersPerSecond (on one connection)
     Streams
      streamLimit         MAX_CONCURRENT_STREAMS of every connection
      limitDropsOnRejection   back to one stream after a 4xx other than 410
      refusedShare        REFUSED_STREAM; resetShare: INTERNAL_ERROR after the
                          request; withheldShare: no answer
      streamWindow, maxFrameSize, bodyPieceBytes (in one DATA frame)
      grantsWindow        false: no WINDOW_UPDATE, so bodies stall
     Connections
      errorBudget         points until GOAWAY: a rejection costs one point,
                          BadDeviceToken costs badTokenPoints, 410 costs none
      goAwayAfterRequests, goAwayUnprocessed, goAwayForm (json, text, empty),
      goAwayError, repeatsGoAway, lingersAfterGoAway, idleSeconds,
      connectionSeconds, resetAfterRequests, closeAfterRequests,
      silentAfterRequests, connectResetShare, connectsPerMinute,
      handshakeDelayMilliseconds, settingsDelayMilliseconds,
      showsUntrustedCertificate, answersALPN, answersPings
     Authentication
      certificateAlert    none, expired, revoked or unknownAuthority
      refusesCertificateByGoAway   GOAWAY for a wrong environment instead of 403
      revokedKeys         ["ABC123DEFG"]
      clockSkewSeconds, providerTokenSeconds, tokenUpdateSeconds,
      limitsTokenUpdatesByAddress, acceptsDERSignatures
     Counting
      tracksDuplicates, tracksCollapse
     FCM, such as --knob fcm.messagesPerMinute=1000 or {"fcm":{"isDown":true}}
      fcm.failures        [{"share":0.01,"kind":"unregistered"}]; kinds are
                          unregistered, malformedToken, invalidArgument,
                          senderMismatch, thirdPartyAuth, permissionDenied,
                          accessTokenExpired, accessTokenInvalid, projectQuota,
                          deviceQuota, unknownProject, unlisted, internal,
                          badGateway, unavailable; also "tokenPrefix", "delivers",
                          "retryAfterSeconds", "retryAfterIsDate"
      fcm.unknownTokens   accept, unregistered or malformed
      fcm.messagesPerMinute (of the project), quotaSeconds, quotaRetryAfterSeconds,
      deviceMessagesPerMinute, deviceMessagesPerHour, messageBytes, isDisabled
      fcm.errorBodyForm, acceptedBodyForm (json, html, empty, cut),
      reversesDetails, omitsDetails, usesOldTexts
      fcm.latencyMilliseconds and the other knobs of time, refusedShare,
      resetShare, withheldShare, resetAfterRequests, closeAfterRequests,
      silentAfterRequests, goAwayAfterRequests, goAwayUnprocessed,
      connectionSeconds: as for APNs
      fcm.streamLimit, mostPings, isDown
      fcm.accessTokenSeconds, clockSkewSeconds, revokedKeys, deletedAccounts,
      tokenEndpointIsDown, tokenEndpointStatus, tokenEndpointMilliseconds
      fcm.tracksDeliveries
      fcm.duplicateKey    data key whose value identifies a push for the count of
                          duplicates; without this key, the tag identifies it

    The control API uses JSON over HTTP/2 on --control-port; trust ca.pem:
      GET /counters       accepted, delivered, stored, reasons, duplicates, faults
      POST /reset         resets all counters; ?devices=true also removes devices
      GET /knobs, PUT /knobs
      POST /devices       lines of token,state,topic,timestamp,environment, or
                          objects with these names; a state is registered,
                          unregistered, expired, bad or wrongTopic
      POST /offline, POST /online   device tokens, one per line: the newest push
                          of each topic waits for an offline device
      POST /timeline      [{"at":5,"every":10,"knobs":{"streamLimit":1}},
                          {"at":60,"action":"goAway"}], in seconds
      POST /goaway, GET /health
      POST /fcm/devices   lines of token,state,project,package, or objects; a state
                          is registered, uninstalled, unregistered, malformed,
                          otherProject or thirdPartyAuth
      GET /fcm/deliveries?token=TOKEN
      POST /fcm/tokens/revoke, POST /fcm/tokens/expire

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
