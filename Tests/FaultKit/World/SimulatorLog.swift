public import Foundation

/// The simulator's log: one line for every request received in full, written before the answer.
///
/// A line is `ms connection stream token apns-id status`. A dash is a missing value: requests to FCM have no id, and a
/// request that gets no answer has no status. Requests to the token endpoint have no token, and are omitted. With
/// `--log-bodies` the rest of the line is the push's body.
public struct SimulatorLog: Sendable {
  /// One request.
  public struct Request: Sendable {
    /// Time in ms since the epoch.
    public var at: Int
    /// The device token in the form of its push service.
    public var token: String
    /// `apns-id` in lower case. A request to FCM has no id, so this is its token. The token is sufficient, because a
    /// world checks only one campaign to Android devices at a time.
    public var id: String
    /// The answer's status; `nil` for none.
    public var status: Int?
    /// The body; empty if it is not logged.
    public var body = ""

    /// Whether Carillon must assume that the device may have got the push: it was answered with 200, or not at all. Any
    /// other answer means that the push was not delivered, so sending it again is not a duplicate.
    public var isDelivery: Bool { status == nil || status == 200 }
  }

  /// The requests in the order of their arrival.
  public let requests: [Request]

  /// End of the last line, in bytes from the start of the file.
  public let end: UInt64

  /// Reads a log. An incomplete last line is still being written and is omitted.
  ///
  /// - Parameter offset: where to start reading, in bytes: the `end` of a log that was read earlier.
  public init(_ url: URL, from offset: UInt64 = 0) throws {
    let file = try FileHandle(forReadingFrom: url)
    defer { try? file.close() }
    try file.seek(toOffset: offset)
    let bytes = try file.readToEnd() ?? Data()
    let lines = bytes[..<(bytes.lastIndex(of: UInt8(ascii: "\n")) ?? bytes.startIndex)]
    end = offset + UInt64(lines.isEmpty ? 0 : lines.count + 1)
    requests = String(decoding: lines, as: UTF8.self).split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ", maxSplits: 6)
      guard words.count >= 6, let at = Int(words[0]), words[3] != "-" else { return nil }
      return Request(
        at: at, token: String(words[3]), id: words[4] == "-" ? String(words[3]) : words[4].lowercased(),
        status: Int(words[5]),
        body: words.count > 6 ? String(words[6]) : "")
    }
  }
}
