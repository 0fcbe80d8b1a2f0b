import HTTP2
import TestKit
import Testing

@Suite struct HTTP2SessionTests {
  @Test func requestAndResponseArriveWhole() throws {
    let pair = try SessionPair()
    let stream = try pair.request("/3/device/ab", body: [1, 2, 3], extra: [("apns-topic", "com.example.app")])
    try pair.exchange()
    let request = try #require(pair.serverLog.messages[stream])
    expect(
      request.fields,
      is: [
        ":method=POST", ":scheme=https", ":authority=test", ":path=/3/device/ab", "apns-topic=com.example.app",
      ])
    expect(request.body, is: [1, 2, 3])
    expect(request.hasEnded)

    try pair.respond(to: stream, status: "410", body: Array("gone".utf8))
    try pair.exchange()
    let response = try #require(pair.clientLog.messages[stream])
    expect(response, is: .init(fields: [":status=410"], body: Array("gone".utf8), hasEnded: true))
    expect(pair.clientLog.closed[stream], is: .noError)
    expect(pair.serverLog.closed[stream], is: .noError)
  }

  @Test func bodiesLargerThanEveryWindowArriveWhole() throws {
    let pair = try SessionPair()
    let body = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let stream = try pair.request(body: body)
    try pair.exchange()
    expect(pair.serverLog.messages[stream]?.body, is: body)
    try pair.respond(to: stream, body: body)
    try pair.exchange()
    expect(pair.clientLog.messages[stream]?.body, is: body)
  }

  @Test func emptyBodyEndsTheStream() throws {
    let pair = try SessionPair()
    let stream = try pair.request(body: [])
    try pair.exchange()
    expect(pair.serverLog.messages[stream]?.hasEnded, is: true)
    expect(pair.serverLog.messages[stream]?.body, is: [])
  }

  @Test func slotsAreUsedAgainAfterStreamsClose() throws {
    let pair = try SessionPair()
    for _ in 0..<100 {
      let stream = try pair.request()
      expect(stream.slot, is: 0)
      try pair.exchange()
      try pair.respond(to: stream)
      try pair.exchange()
    }
    expect(pair.serverLog.order.count, is: 100)
    expect(pair.serverLog.order.allSatisfy { $0.slot == 0 })
  }

  @Test func streamOverTheAnnouncedLimitIsRefused() throws {
    var settings = HTTP2Settings()
    settings.maxConcurrentStreams = 1
    let pair = try SessionPair(serverSettings: settings)
    // The client has not received the server's settings yet.
    let first = try pair.request()
    let second = try pair.request()
    try pair.exchange()
    expect(pair.serverLog.order, is: [first])
    expect(pair.serverLog.refused, is: [second.id])
    expect(pair.clientLog.closed[second], is: .refusedStream)
    expect(pair.client.peerMaxConcurrentStreams, is: 1)
  }

  @Test func raisedLimitReachesTheClient() throws {
    var settings = HTTP2Settings()
    settings.maxConcurrentStreams = 1
    let pair = try SessionPair(serverSettings: settings)
    try pair.exchange()
    expect(pair.client.hasReceivedSettings)
    settings.maxConcurrentStreams = 1000
    try pair.server.submit(settings)
    try pair.exchange()
    expect(pair.client.peerMaxConcurrentStreams, is: 1000)
    expect(pair.clientLog.settingsCount, is: 2)
    for _ in 0..<1000 { _ = try pair.request() }
    try pair.exchange()
    expect(pair.serverLog.order.count, is: 1000)
  }

  @Test func resetReachesThePeerAndLaterAnswersAreDropped() throws {
    let pair = try SessionPair()
    let stream = try pair.request(body: [1])
    try pair.exchange()
    try pair.client.reset(stream, error: .cancel)
    try pair.exchange()
    expect(pair.serverLog.closed[stream], is: .cancel)
    var fields = HeaderFields()
    fields.add(":status", "200")
    expect(try pair.server.respond(to: stream, fields), is: false)
  }

  @Test func thousandsOfResetsDoNotEndTheConnection() throws {
    let pair = try SessionPair()
    for _ in 0..<5000 {
      let stream = try pair.request(body: [1])
      try pair.exchange()
      try pair.client.reset(stream, error: .cancel)
      try pair.exchange()
    }
    expect(pair.clientLog.goAway == nil)
    expect(!pair.server.isFinished)
  }

  @Test func goAwayNamesTheLastStreamAndFinishesWithIt() throws {
    let pair = try SessionPair()
    let stream = try pair.request()
    try pair.exchange()
    let debugData = Array(#"{"reason":"Shutdown"}"#.utf8)
    try pair.server.goAway(lastStreamID: pair.server.lastProcessedStreamID, debugData: debugData)
    try pair.exchange()
    let goAway = try #require(pair.clientLog.goAway)
    expect(goAway.lastStreamID, is: stream.id)
    expect(goAway.error, is: .noError)
    expect(goAway.debugData, is: #"{"reason":"Shutdown"}"#)
    expect(!pair.server.isFinished)
    try pair.respond(to: stream)
    try pair.exchange()
    expect(pair.clientLog.messages[stream]?.fields, is: [":status=200"])
    expect(pair.server.isFinished)
  }

  @Test func requestAfterGoAwayIsReportedAsRefused() throws {
    let pair = try SessionPair()
    try pair.exchange()
    try pair.server.goAway(lastStreamID: 0)
    try pair.exchange()
    // nghttp2 either refuses the submission or reports the stream as closed. Both mean that the request was not
    // processed.
    if let stream = try? pair.request() {
      try pair.exchange()
      expect(pair.clientLog.closed[stream], is: .refusedStream)
    }
    expect(pair.serverLog.order.isEmpty)
  }

  @Test func bytesThatAreNotHTTP2AreAnError() throws {
    let server = try HTTP2Session(role: .server, settings: HTTP2Settings())
    let text = Array("GET / HTTP/1.1\r\nHost: test\r\n\r\n".utf8)
    #expect(throws: HTTP2Error.self) {
      try text.withUnsafeBytes { try server.receive($0, handler: SessionLog()) }
    }
  }

  @Test func framesCutAnywhereAreUnderstood() throws {
    let pair = try SessionPair()
    let stream = try pair.request("/cut", body: [9, 8, 7])
    while let bytes = try pair.client.nextOutput(handler: pair.clientLog) {
      for byte in Array(bytes) {
        try [byte].withUnsafeBytes { try pair.server.receive($0, handler: pair.serverLog) }
      }
    }
    expect(pair.serverLog.messages[stream]?.body, is: [9, 8, 7])
  }
}
