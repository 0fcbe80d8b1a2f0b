import HTTP2

/// A client and a server session connected in memory, each with a handler that records its events.
final class SessionPair {
  let client: HTTP2Session
  let server: HTTP2Session
  let clientLog = SessionLog()
  let serverLog = SessionLog()

  init(serverSettings: HTTP2Settings = HTTP2Settings()) throws {
    client = try HTTP2Session(role: .client, settings: HTTP2Settings())
    server = try HTTP2Session(role: .server, settings: serverSettings)
  }

  /// Passes bytes in both directions until neither side has output.
  func exchange() throws {
    var isMoving = true
    while isMoving {
      let up = try carry(from: client, clientLog, to: server, serverLog)
      let down = try carry(from: server, serverLog, to: client, clientLog)
      isMoving = up || down
    }
  }

  /// Passes the present output of one side to the other side.
  func carry(
    from source: HTTP2Session, _ sourceLog: SessionLog, to target: HTTP2Session, _ targetLog: SessionLog
  ) throws -> Bool {
    var didMove = false
    while let bytes = try source.nextOutput(handler: sourceLog) {
      // Copies the bytes, because they are valid only until the source's next call.
      try Array(bytes).withUnsafeBytes { try target.receive($0, handler: targetLog) }
      didMove = true
    }
    return didMove
  }

  /// Opens a stream with the usual pseudo-headers.
  func request(_ path: String = "/", body: [UInt8]? = nil, extra: [(String, String)] = []) throws -> HTTP2Stream {
    var fields = HeaderFields()
    for (name, value) in [(":method", "POST"), (":scheme", "https"), (":authority", "test"), (":path", path)] + extra {
      fields.add(name, value)
    }
    return try client.request(fields, body: body)
  }

  /// Sends an answer as the server.
  func respond(to stream: HTTP2Stream, status: String = "200", body: [UInt8]? = nil) throws {
    var fields = HeaderFields()
    fields.add(":status", status)
    try server.respond(to: stream, fields, body: body)
  }
}

final class SessionLog: HTTP2SessionHandler {
  struct Message: Equatable {
    var fields: [String]
    var body: [UInt8] = []
    var hasEnded = false
  }

  private(set) var messages: [HTTP2Stream: Message] = [:]
  private(set) var order: [HTTP2Stream] = []
  private(set) var closed: [HTTP2Stream: HTTP2ErrorCode] = [:]
  private(set) var refused: [Int32] = []
  private(set) var settingsCount = 0
  private(set) var goAway: (lastStreamID: Int32, error: HTTP2ErrorCode, debugData: String)?

  func received(_ fields: borrowing HeaderFields, on stream: HTTP2Stream) {
    var lines: [String] = []
    for index in 0..<fields.count {
      let value = String(decoding: fields.value(index), as: UTF8.self)
      lines.append(String(decoding: fields.name(index), as: UTF8.self) + "=" + value)
    }
    if messages[stream] == nil {
      messages[stream] = Message(fields: lines)
      order.append(stream)
    } else {
      messages[stream]?.fields += lines
    }
  }

  func received(_ bytes: UnsafeRawBufferPointer, on stream: HTTP2Stream) { messages[stream]?.body += Array(bytes) }

  func ended(_ stream: HTTP2Stream) { messages[stream]?.hasEnded = true }

  func closed(_ stream: HTTP2Stream, error: HTTP2ErrorCode) { closed[stream] = error }

  func refused(streamID: Int32) { refused.append(streamID) }

  func receivedSettings() { settingsCount += 1 }

  func receivedGoAway(lastStreamID: Int32, error: HTTP2ErrorCode, debugData: UnsafeRawBufferPointer) {
    goAway = (lastStreamID, error, String(decoding: debugData, as: UTF8.self))
  }
}
