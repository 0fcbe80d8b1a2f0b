public import Foundation

/// What the simulator wrote down: one line for every request that it received in full, before it answered.
///
/// A line is `ms connection stream token apns-id status`; the status is `-` for a request that it will not answer. With
/// `--log-bodies` the rest of the line is what the push said.
public struct SimulatorLog: Sendable {
  /// One request.
  public struct Request: Sendable {
    /// When, in ms since the epoch.
    public var at: Int
    /// The device token in hex.
    public var token: String
    /// `apns-id`, lower case.
    public var id: String
    /// The answer's status; `nil` for none.
    public var status: Int?
    /// What it said; empty where the log does not have it.
    public var body = ""

    /// Whether the device may have got it for all that Carillon can know: answered with 200, or not at all. What was
    /// answered otherwise certainly was not delivered, so to send it again is no duplicate.
    public var isDelivery: Bool { status == nil || status == 200 }
  }

  /// In the order of their arrival.
  public let requests: [Request]

  /// Where the last line ends, in bytes from the beginning of the file.
  public let end: UInt64

  /// Reads a log; a last line without an end is being written and is left out.
  ///
  /// - Parameter offset: where to begin: the `end` of an earlier reading.
  public init(_ url: URL, from offset: UInt64 = 0) throws {
    let file = try FileHandle(forReadingFrom: url)
    defer { try? file.close() }
    try file.seek(toOffset: offset)
    let bytes = try file.readToEnd() ?? Data()
    let lines = bytes[..<(bytes.lastIndex(of: UInt8(ascii: "\n")) ?? bytes.startIndex)]
    end = offset + UInt64(lines.isEmpty ? 0 : lines.count + 1)
    requests = String(decoding: lines, as: UTF8.self).split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ", maxSplits: 6)
      guard words.count >= 6, let at = Int(words[0]) else { return nil }
      return Request(
        at: at, token: String(words[3]), id: words[4].lowercased(), status: Int(words[5]),
        body: words.count > 6 ? String(words[6]) : "")
    }
  }
}
