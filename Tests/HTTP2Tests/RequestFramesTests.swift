import TestKit
import TestSupport
import Testing

@testable import HTTP2

/// Valid and invalid frames of a peer.
@Suite(.takesTurns) struct RequestFramesTests {
  /// Returns the bytes of a frame.
  private static func frame(
    _ kind: UInt8, _ payload: [UInt8] = [], flags: UInt8 = 0, stream: UInt32 = 0, length: Int? = nil
  ) -> [UInt8] {
    var head = [UInt8](repeating: 0, count: FrameHeader.size)
    let header = FrameHeader(length: length ?? payload.count, kind: kind, flags: flags, stream: stream)
    head.withUnsafeMutableBytes { header.write(to: $0.baseAddress.unsafelyUnwrapped) }
    return head + payload
  }

  private static let settings = frame(FrameHeader.Kind.settings)
  /// Header block of `:status: 200` (RFC 7541 appendix A).
  private static let accepted: [UInt8] = [0x88]

  private static func setting(_ id: UInt16, _ value: UInt32) -> [UInt8] {
    frame(FrameHeader.Kind.settings, FrameHeader.bytes(id) + FrameHeader.bytes(value))
  }

  private static func goAway(_ last: UInt32) -> [UInt8] {
    frame(FrameHeader.Kind.goAway, FrameHeader.bytes(last) + FrameHeader.bytes(UInt32(0)))
  }

  @Test func headersAreReadAsTheyAreWritten() {
    for header in [
      FrameHeader(length: 0, kind: 0), FrameHeader(length: 16_384, kind: 9, flags: 255, stream: 0x7fff_ffff),
      FrameHeader(length: 0xff_ffff, kind: 255, flags: 1, stream: 1),
    ] {
      let bytes = Self.frame(header.kind, flags: header.flags, stream: header.stream, length: header.length)
      expect(bytes.withUnsafeBytes { FrameHeader($0.baseAddress.unsafelyUnwrapped) }, is: header)
    }
  }

  struct Peer: CustomTestStringConvertible, Sendable {
    var testDescription: String
    /// Bytes after the peer's SETTINGS, with streams 1 and 3 open.
    var bytes: [UInt8]
    /// Error code that ends the connection; `nil` if the connection continues.
    var code: HTTP2ErrorCode?
    /// Error code that ends stream 1; `nil` if the stream continues.
    var ending: HTTP2ErrorCode?
    var status: UInt16 = 0

    init(
      _ description: String, _ bytes: [UInt8], _ code: HTTP2ErrorCode? = nil, ending: HTTP2ErrorCode? = nil,
      status: UInt16 = 0
    ) {
      testDescription = description
      self.bytes = bytes
      self.code = code
      self.ending = ending
      self.status = status
    }
  }

  private typealias Kind = FrameHeader.Kind
  private typealias Flag = FrameHeader.Flag

  static let badPeers: [Peer] = [
    Peer("a frame that is too long", frame(Kind.data, stream: 1, length: 16_385), .frameSizeError),
    Peer("DATA on the connection", frame(Kind.data, [1]), .protocolError),
    Peer("DATA on a stream of the peer's", frame(Kind.data, [1], stream: 2), .protocolError),
    Peer("DATA on a stream that was not opened", frame(Kind.data, [1], stream: 5), .protocolError),
    Peer("HEADERS on a stream that was not opened", frame(Kind.headers, accepted, flags: 5, stream: 5), .protocolError),
    Peer("padding longer than DATA", frame(Kind.data, [3, 0, 0], flags: Flag.padded, stream: 1), .protocolError),
    Peer("padding of nothing", frame(Kind.data, flags: Flag.padded, stream: 1), .protocolError),
    Peer("a priority of three bytes", frame(Kind.headers, [0, 0, 0], flags: 0x24, stream: 1), .frameSizeError),
    Peer(
      "no HPACK", frame(Kind.headers, [0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], flags: 4, stream: 1), .compressionError),
    Peer("an index of nothing", frame(Kind.headers, [0xc0], flags: 4, stream: 1), .compressionError),
    Peer("a block that is cut", frame(Kind.headers, [0x40, 5, 0x61], flags: 4, stream: 1), .compressionError),
    Peer(
      "a CONTINUATION without a header block", frame(Kind.continuation, accepted, flags: 4, stream: 1), .protocolError),
    Peer(
      "a PING within a header block",
      frame(Kind.headers, accepted, stream: 1) + frame(Kind.ping, .init(repeating: 0, count: 8)),
      .protocolError),
    Peer(
      "a CONTINUATION of another stream's block",
      frame(Kind.headers, accepted, stream: 1) + frame(Kind.continuation, flags: 4, stream: 3), .protocolError),
    Peer(
      "CONTINUATION without end",
      frame(Kind.headers, accepted, stream: 1) + (0..<64).flatMap { _ in frame(Kind.continuation, stream: 1) },
      .enhanceYourCalm),
    Peer(
      "a block without end",
      frame(Kind.headers, accepted, stream: 1)
        + (0..<5).flatMap { _ in frame(Kind.continuation, .init(repeating: 0x88, count: 16_384), stream: 1) },
      .enhanceYourCalm),
    Peer("RST_STREAM of three bytes", frame(Kind.resetStream, [0, 0, 0], stream: 1), .frameSizeError),
    Peer("RST_STREAM of the connection", frame(Kind.resetStream, [0, 0, 0, 0]), .protocolError),
    Peer("RST_STREAM of what was not opened", frame(Kind.resetStream, [0, 0, 0, 0], stream: 99), .protocolError),
    Peer("SETTINGS of seven bytes", frame(Kind.settings, .init(repeating: 0, count: 7)), .frameSizeError),
    Peer("SETTINGS on a stream", frame(Kind.settings, stream: 1), .protocolError),
    Peer(
      "an acknowledgement with contents", frame(Kind.settings, .init(repeating: 0, count: 6), flags: 1), .frameSizeError
    ),
    Peer("SETTINGS_ENABLE_PUSH of", setting(2, 1), .protocolError),
    Peer("an initial window that is too large", setting(4, 0x8000_0000), .flowControlError),
    Peer("a largest frame that is too small", setting(5, 16_383), .protocolError),
    Peer("a PUSH_PROMISE", frame(Kind.pushPromise, [0, 0, 0, 2] + accepted, flags: 4, stream: 1), .protocolError),
    Peer("PING of seven bytes", frame(Kind.ping, .init(repeating: 0, count: 7)), .frameSizeError),
    Peer("PING on a stream", frame(Kind.ping, .init(repeating: 0, count: 8), stream: 1), .protocolError),
    Peer("GOAWAY of seven bytes", frame(Kind.goAway, .init(repeating: 0, count: 7)), .frameSizeError),
    Peer("GOAWAY on a stream", frame(Kind.goAway, .init(repeating: 0, count: 8), stream: 1), .protocolError),
    Peer("a GOAWAY that names a stream of the peer's", goAway(2), .protocolError),
    Peer("a GOAWAY that promises more than the one before", goAway(1) + goAway(3), .protocolError),
    Peer("WINDOW_UPDATE of 0 bytes", frame(Kind.windowUpdate, [0, 0, 0, 0]), .protocolError),
    Peer("WINDOW_UPDATE of five bytes", frame(Kind.windowUpdate, [0, 0, 0, 0, 1]), .frameSizeError),
    Peer("a window that is too large", frame(Kind.windowUpdate, [0x7f, 0xff, 0xff, 0xff]), .flowControlError),
    Peer(
      "frames without end",
      (0...RequestSession.maximumFrames).flatMap { _ in frame(200) }, .enhanceYourCalm),
    Peer("PRIORITY of four bytes", frame(Kind.priority, [0, 0, 0, 0], stream: 1), .frameSizeError),
  ]

  static let oddPeers: [Peer] = [
    Peer("a frame of an unknown type", frame(200, [1, 2, 3], flags: 255, stream: 7)),
    Peer("a setting that nobody knows", setting(0x99, 7)),
    Peer("PRIORITY", frame(Kind.priority, [0, 0, 0, 0, 1], stream: 1)),
    Peer("an acknowledgement", frame(Kind.settings, flags: Flag.acknowledgement)),
    Peer("an answer", frame(Kind.headers, accepted, flags: 5, stream: 1), ending: .noError, status: 200),
    Peer(
      "an answer with padding and priority",
      frame(Kind.headers, [2, 0, 0, 0, 3, 1] + accepted + [0, 0], flags: 0x2d, stream: 1), ending: .noError, status: 200
    ),
    Peer(
      "an answer in three frames",
      frame(Kind.headers, [], flags: Flag.endStream, stream: 1) + frame(Kind.continuation, accepted, stream: 1)
        + frame(Kind.continuation, flags: Flag.endHeaders, stream: 1), ending: .noError, status: 200),
    Peer(
      "an answer that ends with empty DATA",
      frame(Kind.headers, accepted, flags: 4, stream: 1) + frame(Kind.data, flags: Flag.endStream, stream: 1),
      ending: .noError, status: 200),
    Peer(
      "an answer after its stream has ended",
      frame(Kind.headers, accepted, flags: 5, stream: 1) + frame(Kind.headers, accepted, flags: 5, stream: 1)
        + frame(Kind.data, [1], stream: 1) + frame(Kind.resetStream, [0, 0, 0, 1], stream: 1)
        + frame(Kind.windowUpdate, [0, 0, 0, 0], stream: 1), ending: .noError, status: 200),
    Peer("DATA before its HEADERS", frame(Kind.data, [1], stream: 1), ending: .protocolError),
    Peer(
      "101 Switching Protocols", frame(Kind.headers, [0x08, 3] + "101".utf8, flags: 4, stream: 1),
      ending: .protocolError),
    Peer(
      "an interim answer that ends", frame(Kind.headers, [0x08, 3] + "103".utf8, flags: 5, stream: 1),
      ending: .protocolError),
    Peer("a stream that is refused", frame(Kind.resetStream, [0, 0, 0, 7], stream: 1), ending: .refusedStream),
    Peer(
      "a stream's WINDOW_UPDATE of 0 bytes", frame(Kind.windowUpdate, [0, 0, 0, 0], stream: 1), ending: .protocolError),
    Peer(
      "a stream's window that is too large", frame(Kind.windowUpdate, [0x7f, 0xff, 0xff, 0xff], stream: 1),
      ending: .flowControlError),
    Peer("the end of all streams", goAway(0), ending: .refusedStream),
    Peer(
      "an answer that is cut",
      frame(Kind.headers, accepted, flags: 4, stream: 1)
        + frame(Kind.resetStream, [0, 0, 0, 2], stream: 1), ending: .internalError),
    Peer(
      "an answer that ends without END_STREAM and without an error",
      frame(Kind.headers, accepted, flags: 4, stream: 1) + frame(Kind.resetStream, [0, 0, 0, 0], stream: 1),
      ending: .noError, status: 200),
    Peer(
      "a stream that is refused after its answer has begun",
      frame(Kind.headers, accepted, flags: 4, stream: 1) + frame(Kind.resetStream, [0, 0, 0, 7], stream: 1),
      ending: .protocolError),
    Peer(
      "a stream that is refused after an interim answer",
      frame(Kind.headers, [0x08, 3] + "103".utf8, flags: 4, stream: 1)
        + frame(Kind.resetStream, [0, 0, 0, 7], stream: 1), ending: .protocolError),
    Peer(
      "a body without end",
      frame(Kind.headers, accepted, flags: 4, stream: 1)
        + (0..<5).flatMap { _ in frame(Kind.data, .init(repeating: 1, count: 16_384), stream: 1) },
      ending: .enhanceYourCalm),
  ]

  /// Returns a client with streams 1 and 3 open, whose output so far is removed.
  private func client() throws -> RequestPair {
    let pair = try RequestPair()
    try Self.settings.withUnsafeBytes { try pair.client.receive($0) }
    try pair.open(1)
    try pair.open(2)
    pair.client.wrote(pair.client.output.count)
    return pair
  }

  @Test(arguments: badPeers, [Int.max, 1])
  func protocolViolationEndsTheConnectionWithItsReason(_ peer: Peer, piece: Int) throws {
    let client = try client().client
    let error = #expect(throws: HTTP2Error.self) { try receive(peer.bytes, by: piece, client) }
    expect(error?.reason.hasPrefix("the peer broke the rules of HTTP/2 with "), is: true)
    let last = Array(client.output.suffix(FrameHeader.size + 8))
    expect(
      last, is: Self.frame(Kind.goAway, FrameHeader.bytes(UInt32(0)) + FrameHeader.bytes(peer.code?.rawValue ?? 99)))
    expect(!client.canOpen(bodyCount: 0))
    client.abandon()
    var tags: Set<UInt64> = []
    while let next = client.nextEnded() { expect(tags.insert(next.tag).inserted) }
    expect(tags, is: [1, 2])
  }

  @Test(arguments: oddPeers, [Int.max, 1])
  func unusualFrameEndsAtMostOneStream(_ peer: Peer, piece: Int) throws {
    let client = try client().client
    try receive(peer.bytes, by: piece, client)
    var ended: [UInt64: RequestSession.Ended] = [:]
    while let next = client.nextEnded() { ended[next.tag] = next }
    expect(ended[1]?.error, is: peer.ending)
    expect(ended[1]?.status ?? 0 == peer.status)
    let isOver = peer.bytes[3] == Kind.goAway
    expect((ended[2] == nil) == !isOver && client.canOpen(bodyCount: 4) == !isOver)
  }

  private func receive(_ bytes: [UInt8], by piece: Int, _ client: RequestSession) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let part = Array(rest.prefix(piece))
      rest = rest.dropFirst(piece)
      try part.withUnsafeBytes { try client.receive($0) }
    }
  }

  @Test func firstFrameIsSETTINGS() throws {
    for first in [Self.frame(Kind.ping, .init(repeating: 0, count: 8)), Self.frame(Kind.settings, flags: 1)] {
      let client = try RequestPair().client
      #expect(throws: HTTP2Error.self) { try first.withUnsafeBytes { try client.receive($0) } }
    }
  }

  @Test func unreadPingAnswersEndTheConnection() throws {
    let client = try client().client
    let ping = Self.frame(Kind.ping, .init(repeating: 7, count: 8))
    var answered = 0
    #expect(throws: HTTP2Error.self) {
      while answered < 100_000 {
        try ping.withUnsafeBytes { try client.receive($0) }
        answered += 1
      }
    }
    expect(answered > 1000 && client.output.count < 200_000)
  }

  @Test func peerGetsRoomAgainForWhatWasRead() throws {
    let client = try client().client
    for stream in [UInt32(1), 3] {
      try Self.frame(Kind.headers, Self.accepted, flags: Flag.endHeaders, stream: stream).withUnsafeBytes {
        try client.receive($0)
      }
    }
    // One byte more than the first window of a stream, and twice the window of the connection: the client reads all of
    // it.
    for _ in 0..<4 {
      for stream in [UInt32(1), 3] {
        try Self.frame(Kind.data, .init(repeating: 1, count: 16_384), stream: stream).withUnsafeBytes {
          try client.receive($0)
        }
      }
      client.wrote(client.output.count)
    }
    try Self.frame(Kind.data, flags: Flag.endStream, stream: 1).withUnsafeBytes { try client.receive($0) }
    let ended = try #require(client.nextEnded())
    expect(ended.status == 200 && ended.body.count == RequestSession.keptBody)
  }

  /// The body of an answer is stored up to the limit, whatever the size of its frames, and the next request in the same
  /// slot has a body of its own.
  @Test(arguments: [1, 400, 512, 5000])
  func longBodyIsStored(piece: Int) throws {
    let body = (0..<5000).map { UInt8($0 % 251) }
    let pair = try client()
    let client = pair.client
    for (stream, length) in [(UInt32(1), 5000), (3, 100), (5, 513), (7, 512)] {
      if stream > 3 { try pair.open(UInt64(stream)) }
      try Self.frame(Kind.headers, Self.accepted, flags: Flag.endHeaders, stream: stream).withUnsafeBytes {
        try client.receive($0)
      }
      for start in stride(from: 0, to: length, by: piece) {
        let end = min(start + piece, length)
        try Self.frame(
          Kind.data, Array(body[start..<end]), flags: end == length ? Flag.endStream : 0, stream: stream
        ).withUnsafeBytes { try client.receive($0) }
        client.wrote(client.output.count)
      }
      let ended = try #require(client.nextEnded())
      expect(ended.status == 200 && Array(ended.body) == Array(body[..<min(length, RequestSession.keptBody)]))
    }
  }

  // MARK: Random input

  /// A peer that changes its tables, windows and streams. Every request arrives unchanged and exactly once.
  @Test func everythingArrivesForAnySettingsOfThePeer() throws {
    var random = Seed("requests of a client")
    var settings = HTTP2Settings()
    let pair = try RequestPair(capacity: 20)
    try pair.exchange()
    var expected: [(fields: [String], body: [UInt8])] = []
    var answered = 0
    for tag in 0..<2000 {
      if tag % 50 == 7 {
        settings.headerTableSize = [0, 40, 100, 200, 4096, 65_536].randomElement(using: &random)
        settings.initialWindowSize = [0, 1, 50, 65_535, 1_000_000].randomElement(using: &random)
        try pair.server.submit(settings)
        try pair.down()
      }
      let topic = "com.example.\(Int.random(in: 0..<8, using: &random))"
      let token = "bearer x" + String(repeating: "t", count: Int.random(in: 0..<300, using: &random) / 100 * 100)
      let path = "/3/device/" + String(repeating: "a", count: Int.random(in: 0..<300, using: &random))
      let identifier = "\(tag % 10)xyz"
      let isConstant = Bool.random(using: &random)
      let template = RequestTemplate(
        authority: "h", path: isConstant ? path : "/", pathCapacity: isConstant ? nil : 400,
        fields: [("authorization", token), ("apns-topic", topic)],
        identifier: Bool.random(using: &random) ? "apns-id" : nil, identifierCount: 4)
      if !isConstant {
        template.path.copyBytes(from: path.utf8)
        template.pathCount = path.utf8.count
      }
      template.identifier.copyBytes(from: template.identifierName == nil ? [] : Array(identifier.utf8))
      let body = [UInt8](repeating: UInt8(tag & 255), count: Int.random(in: 0..<3000, using: &random))
      try body.withUnsafeBytes { try pair.client.open(template, body: $0, tag: UInt64(tag), mark: 0, now: 0) }
      expected.append(
        (
          [
            ":method=POST", ":scheme=https", ":authority=h", ":path=\(path)", "authorization=\(token)",
            "apns-topic=\(topic)",
          ]
            + (template.identifierName == nil ? [] : ["apns-id=\(identifier)"]), body
        ))
      guard tag % 10 == 9 else { continue }
      settings.initialWindowSize = 1_000_000
      try pair.server.submit(settings)
      while pair.client.openCount > 0 {
        try pair.exchange()
        while answered < pair.log.order.count, pair.log.messages[pair.log.order[answered]]?.hasEnded == true {
          try pair.respond(answered, status: "200")
          answered += 1
        }
      }
      while let next = pair.client.nextEnded() { expect(next.status == 200 && next.wasSent, "\(tag) \(next)") }
    }
    expect(pair.log.order.count, is: expected.count)
    for (stream, request) in zip(pair.log.order, expected) {
      let message = try #require(pair.log.messages[stream])
      expect(message.fields == request.fields && message.body == request.body)
    }
  }

  /// With any input, every request ends exactly once, and the code accesses no memory outside its buffers (`make test`
  /// uses all of Swift's checks).
  @Test func everyRequestEndsOnceForAnyInput() throws {
    var random = Seed("frames of a peer")
    let samples = (Self.badPeers + Self.oddPeers).map(\.bytes)
    for _ in 0..<4000 {
      let client = try client().client
      var bytes = (0..<Int.random(in: 1...6, using: &random)).flatMap { _ in samples.randomElement(using: &random) ?? []
      }
      for _ in 0..<Int.random(in: 0...4, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
      }
      do { try receive(bytes, by: Int.random(in: 1...200, using: &random), client) } catch is HTTP2Error {}
      if client.canOpen(bodyCount: 4) { client.wrote(client.output.count) }
      client.abandon()
      var tags: Set<UInt64> = []
      while let next = client.nextEnded() { expect(tags.insert(next.tag).inserted) }
      expect(tags, is: [1, 2])
    }
  }
}
