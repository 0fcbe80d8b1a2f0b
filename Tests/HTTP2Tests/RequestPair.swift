@testable import HTTP2

/// The client for many small requests, connected in memory with a server session of nghttp2.
final class RequestPair {
  let client: RequestSession
  let server: HTTP2Session
  let log = SessionLog()
  var template = RequestTemplate(
    authority: "api.push.apple.com", path: "/3/device/", pathCapacity: 100,
    fields: [("authorization", String(repeating: "j", count: 200)), ("apns-topic", "com.example.news")],
    identifier: "apns-id", identifierCount: 4)
  /// Number of output bytes that ``up(_:)`` has passed on with a limit.
  var sent = 0

  init(serverSettings: HTTP2Settings = HTTP2Settings(), capacity: Int = 10, firstStreamID: UInt32 = 1) throws {
    client = try RequestSession(capacity: capacity, settings: HTTP2Settings(), firstStreamID: firstStreamID)
    server = try HTTP2Session(role: .server, settings: serverSettings)
  }

  /// Connects with a server whose table for header fields has this size in bytes, and exchanges SETTINGS.
  convenience init(tableSize: UInt32) throws {
    var settings = HTTP2Settings()
    settings.headerTableSize = tableSize
    try self.init(serverSettings: settings)
    try exchange()
  }

  func exchange() throws {
    try up()
    try down()
    try up()
  }

  /// Passes the client's output to the server: all of it, or the first `count` bytes.
  func up(_ count: Int = .max) throws {
    while !client.output.isEmpty, sent < count {
      let bytes = Array(client.output.prefix(count - sent))
      try bytes.withUnsafeBytes { try server.receive($0, handler: log) }
      client.wrote(bytes.count)
      sent += count == .max ? 0 : bytes.count
    }
  }

  func down() throws {
    while let bytes = try server.nextOutput(handler: log) { try client.receive(bytes) }
  }

  func open(_ tag: UInt64, body: String = "body") throws {
    let path = Array("/3/device/\(tag)".utf8)
    template.path.copyBytes(from: path)
    template.pathCount = path.count
    template.identifier.copyBytes(from: [UInt8](repeating: UInt8(ascii: "a") + UInt8(tag % 26), count: 4))
    try Array(body.utf8).withUnsafeBytes { try client.open(template, body: $0, tag: tag, mark: 7, now: tag) }
  }

  func respond(_ index: Int, status: String, body: String? = nil, extra: [(String, String)] = []) throws {
    var fields = HeaderFields()
    fields.add(":status", status)
    for (name, value) in extra { fields.add(name, value) }
    try server.respond(to: log.order[index], fields, body: body.map { Array($0.utf8) })
  }
}
