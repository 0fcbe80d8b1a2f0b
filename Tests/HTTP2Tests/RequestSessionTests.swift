import TestKit
import Testing

@testable import HTTP2

/// The client for many small requests, connected in memory with a server session.
@Suite struct RequestSessionTests {
  @Test func requestsArriveWholeFromOneTemplate() throws {
    let pair = try RequestPair()
    try pair.exchange()
    expect(pair.client.hasReceivedSettings)
    for tag in 1...3 { try pair.open(UInt64(tag), body: "body \(tag)") }
    try pair.up()
    let messages = pair.log.order.compactMap { pair.log.messages[$0] }
    expect(messages.map { String(decoding: $0.body, as: UTF8.self) }, is: ["body 1", "body 2", "body 3"])
    for (index, message) in messages.enumerated() {
      expect(message.hasEnded)
      expect(message.fields.contains(":path=/3/device/\(index + 1)"))
      expect(message.fields.last, is: "apns-id=" + ["bbbb", "cccc", "dddd"][index])
    }
  }

  @Test func laterRequestsCostLittleMoreThanTheirDifferences() throws {
    let pair = try RequestPair()
    try pair.exchange()
    try pair.open(1, body: "")
    try pair.up()
    try pair.open(2, body: "")
    // The size of two frame headers, five indexed fields, and path and identifier as literals with indexed names.
    expect(pair.client.output.count < 45)
  }

  /// A constant path is indexed with the other fields. With a table of 0 bytes, every request contains it in full.
  @Test(arguments: [4096, 0])
  func constantPathArrives(tableSize: UInt32) throws {
    let pair = try RequestPair(tableSize: tableSize)
    let path = "/v1/projects/news/messages:send"
    let template = RequestTemplate(
      authority: "fcm.googleapis.com", path: path, pathCapacity: nil, fields: [("content-type", "application/json")],
      identifier: nil, identifierCount: 0)
    var sizes: [Int] = []
    for tag in 0..<3 {
      try [].withUnsafeBytes { try pair.client.open(template, body: $0, tag: UInt64(tag), mark: 0, now: 0) }
      sizes.append(pair.client.output.count)
      try pair.up()
    }
    for stream in pair.log.order {
      expect(
        pair.log.messages[stream]?.fields,
        is: [
          ":method=POST", ":scheme=https", ":authority=fcm.googleapis.com", ":path=\(path)",
          "content-type=application/json",
        ])
    }
    // The frame header and five indexed fields.
    if tableSize > 0 { expect(sizes[2], is: 14) } else { expect(sizes[2] > path.utf8.count) }
  }

  /// With a table of 0 bytes, every request contains all its fields in full.
  @Test(arguments: [4096, 0])
  func authorizationArrivesWhateverTheSizeOfTheTable(tableSize: UInt32) throws {
    let pair = try RequestPair(tableSize: tableSize)
    for (tag, value) in [(1, "bearer first"), (2, "bearer first"), (3, "bearer second, and longer than that")] {
      pair.template = RequestTemplate(
        authority: "api.push.apple.com", path: "/3/device/", pathCapacity: 100, fields: [("authorization", value)],
        identifier: "apns-id", identifierCount: 4)
      try pair.open(UInt64(tag))
      try pair.up()
      expect(pair.log.messages[pair.log.order[tag - 1]]?.fields.contains("authorization=\(value)"), is: true)
    }
  }

  @Test func answersComeWithWhatMatters() throws {
    let pair = try RequestPair()
    try pair.exchange()
    for tag in 1...3 { try pair.open(UInt64(tag)) }
    try pair.up()
    try pair.respond(1, status: "410", body: #"{"reason":"Unregistered"}"#)
    try pair.respond(0, status: "200")
    try pair.respond(2, status: "503", extra: [("retry-after", "77")])
    try pair.down()
    var ended: [RequestSession.Ended] = []
    while let next = pair.client.nextEnded() {
      if next.tag == 2 { expect(next.body.elementsEqual(#"{"reason":"Unregistered"}"#.utf8)) }
      ended.append(next)
    }
    ended.sort { $0.tag < $1.tag }
    expect(ended.map(\.status), is: [200, 410, 503])
    expect(ended.map(\.retryAfter), is: [0, 0, 77])
    expect(ended.allSatisfy { $0.mark == 7 && $0.startedAt == $0.tag && $0.wasSent && $0.error == .noError })
    expect(pair.client.openCount, is: 0)
  }

  /// RFC 9110 section 5.6.7 and section 10.2.3.
  @Test func datesOfRetryAfterCountFromTheDateOfTheAnswer() throws {
    let pair = try RequestPair()
    try pair.exchange()
    let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    let answers: [(status: String, fields: [(String, String)], seconds: UInt16, at: UInt32)] = [
      ("503", [("date", date), ("retry-after", "Sun, 06 Nov 1994 08:51:00 GMT")], 83, 0),
      ("429", [("retry-after", "Sunday, 06-Nov-94 08:50:37 GMT"), ("date", "Sun Nov  6 08:49:37 1994")], 60, 0),
      ("500", [("date", date), ("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")], 0, 0),
      ("503", [("date", date), ("retry-after", "30")], 30, 0),
      ("503", [("retry-after", date)], 0, 784_111_777),
      ("503", [("date", "today"), ("retry-after", "Thu, 29 Feb 2024 00:00:00 GMT")], 0, 1_709_164_800),
      ("503", [("date", date), ("retry-after", "tomorrow")], 0, 0),
      ("503", [("date", date), ("retry-after", "Sun, 41 Nov 1994 25:49:37 GMT")], 0, 0),
    ]
    for tag in answers.indices { try pair.open(UInt64(tag)) }
    try pair.up()
    for (tag, answer) in answers.enumerated() { try pair.respond(tag, status: answer.status, extra: answer.fields) }
    try pair.down()
    var count = 0
    while let next = pair.client.nextEnded() {
      let expected = answers[Int(next.tag)]
      expect(next.retryAfter == expected.seconds && next.retryAt == expected.at, "\(expected)")
      count += 1
    }
    expect(count, is: answers.count)
  }

  /// Bytes of an answer: its header blocks, the last of which ends the stream.
  struct Answer: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var blocks: [[(String, String)]]
    var status: UInt16 = 0

    /// HEADERS frames on stream 1 (RFC 9113 section 6.2), each field a literal without indexing (RFC 7541 section
    /// 6.2.2).
    var bytes: [UInt8] {
      var bytes: [UInt8] = []
      for (index, fields) in blocks.enumerated() {
        var block: [UInt8] = []
        for (name, value) in fields { block += [0] + Self.text(name) + Self.text(value) }
        let length = [UInt8(block.count >> 16), UInt8(block.count >> 8 & 255), UInt8(block.count & 255)]
        bytes += length + [1, index == blocks.count - 1 ? 0x5 : 0x4, 0, 0, 0, 1] + block
      }
      return bytes
    }

    /// Returns a string without Huffman code (RFC 7541 sections 5.1 and 5.2).
    private static func text(_ text: String) -> [UInt8] {
      var count = text.utf8.count
      guard count >= 127 else { return [UInt8(count)] + text.utf8 }
      var length: [UInt8] = [127]
      count -= 127
      while count >= 128 {
        length.append(UInt8(count & 127 | 128))
        count >>= 7
      }
      return length + [UInt8(count)] + text.utf8
    }
  }

  static let answers = [
    Answer(testDescription: "as it should be", blocks: [[(":status", "200"), ("apns-id", "x")]], status: 200),
    Answer(testDescription: "interim first", blocks: [[(":status", "103")], [(":status", "200")]], status: 200),
    Answer(testDescription: "trailers", blocks: [[(":status", "200")], [("x", "y")]], status: 200),
    Answer(testDescription: "two statuses", blocks: [[(":status", "200"), (":status", "200")]]),
    Answer(testDescription: "no status", blocks: [[("apns-id", "x")]]),
    Answer(testDescription: "an upper-case name", blocks: [[(":status", "200"), ("Apns-Id", "x")]]),
    Answer(testDescription: "a name that is none", blocks: [[(":status", "200"), ("apns id", "x")]]),
    Answer(
      testDescription: "a line break in a value", blocks: [[(":status", "200"), ("apns-id", "x\r\nstatus: 410")]]),
    Answer(testDescription: "a pseudo-header in trailers", blocks: [[(":status", "200")], [(":status", "200")]]),
    Answer(testDescription: "a pseudo-header behind fields", blocks: [[("apns-id", "x"), (":status", "200")]]),
    Answer(testDescription: "a field of HTTP/1.1", blocks: [[(":status", "200"), ("connection", "close")]]),
    Answer(testDescription: "a body of another length", blocks: [[(":status", "200"), ("content-length", "7")]]),
    Answer(
      testDescription: "too many fields",
      blocks: [[(":status", "200")] + (0..<200).map { ("x-\($0)", String(repeating: "y", count: 60)) }]),
  ]

  @Test(arguments: answers)
  func malformedAnswerEndsOnlyItsStream(_ answer: Answer) throws {
    let pair = try RequestPair()
    try pair.exchange()
    try pair.open(1)
    try pair.up()
    try answer.bytes.withUnsafeBytes { try pair.client.receive($0) }
    let ended = try #require(pair.client.nextEnded())
    expect(ended.status, is: answer.status)
    expect(ended.wasSent)
    // The connection continues.
    expect(pair.client.openCount == 0 && pair.client.canOpen(bodyCount: 4))
  }

  @Test func requestThatCouldNotBeOpenedDoesNotEndASecondTime() throws {
    var settings = HTTP2Settings()
    settings.maxConcurrentStreams = 1
    let pair = try RequestPair(serverSettings: settings)
    try pair.exchange()
    try pair.open(1)
    #expect(throws: HTTP2Error.self) { try pair.open(2) }
    expect(pair.client.unfinishedCount, is: 1)
    pair.client.abandon()
    expect(pair.client.nextEnded()?.tag, is: 1)
    expect(pair.client.nextEnded()?.tag, is: nil)
  }

  @Test func streamsAboveTheLastOfAGoAwayAreRefused() throws {
    let pair = try RequestPair()
    try pair.exchange()
    for tag in 1...3 { try pair.open(UInt64(tag)) }
    try pair.up()
    try pair.server.goAway(lastStreamID: 1, debugData: Array(#"{"reason":"Shutdown"}"#.utf8))
    try pair.down()
    var ended: [UInt64: HTTP2ErrorCode] = [:]
    while let next = pair.client.nextEnded() { ended[next.tag] = next.error }
    expect(ended, is: [2: .refusedStream, 3: .refusedStream])
    expect(pair.client.goAway?.lastStreamID, is: 1)
    expect(!pair.client.canOpen(bodyCount: 0))
    try pair.respond(0, status: "200")
    try pair.down()
    expect(pair.client.nextEnded()?.status, is: 200)
    expect(pair.client.isFinished)
  }

  @Test func requestNotFullyWrittenCountsAsUnsent() throws {
    let pair = try RequestPair()
    try pair.exchange()
    for tag in 1...3 { try pair.open(UInt64(tag)) }
    // Everything except the last byte of the last request.
    pair.client.wrote(pair.client.output.count - 1)
    pair.client.abandon()
    var sent: [UInt64: Bool] = [:]
    while let next = pair.client.nextEnded() { sent[next.tag] = next.wasSent }
    expect(sent, is: [1: true, 2: true, 3: false])
  }

  @Test func bodiesBeyondTheWindowAreSentLater() throws {
    var settings = HTTP2Settings()
    settings.initialWindowSize = 3
    let pair = try RequestPair(serverSettings: settings)
    try pair.exchange()
    try pair.open(1, body: "a longer body")
    for _ in 0..<10 { try pair.exchange() }
    expect(pair.log.messages[pair.log.order[0]]?.body, is: Array("a longer body".utf8))
    expect(pair.log.messages[pair.log.order[0]]?.hasEnded, is: true)
  }

  @Test func onlyRequestsOpenedBeforeTheDeadlineTimeOut() throws {
    let pair = try RequestPair()
    try pair.exchange()
    for tag in 1...3 { try pair.open(UInt64(tag)) }
    expect(pair.client.cancel(openedBefore: 3))
    try pair.up()
    var ended: [UInt64] = []
    while let next = pair.client.nextEnded() {
      expect(next.error == .cancel && next.status == 0)
      ended.append(next.tag)
    }
    expect(ended.sorted(), is: [1, 2])
    expect(pair.client.openCount, is: 1)
    expect(pair.log.closed[pair.log.order[0]], is: .cancel)
  }

  @Test func limitsOfPeerTableAndIdentifiersHold() throws {
    var settings = HTTP2Settings()
    settings.maxConcurrentStreams = 1
    let pair = try RequestPair(serverSettings: settings, firstStreamID: UInt32(Int32.max) - 2)
    try pair.exchange()
    expect(pair.client.peerMaxConcurrentStreams, is: 1)
    try pair.open(1)
    expect(!pair.client.canOpen(bodyCount: 0))
    settings.maxConcurrentStreams = 100
    try pair.server.submit(settings)
    try pair.down()
    expect(pair.client.canOpen(bodyCount: 0))
    try pair.open(2)
    expect(pair.client.isExhausted && !pair.client.canOpen(bodyCount: 0))
  }

  @Test func pingsAreCountedWhenAnswered() throws {
    let pair = try RequestPair()
    try pair.exchange()
    try pair.client.ping()
    expect(pair.client.pingAnswers, is: 0)
    try pair.exchange()
    expect(pair.client.pingAnswers, is: 1)
  }
}
