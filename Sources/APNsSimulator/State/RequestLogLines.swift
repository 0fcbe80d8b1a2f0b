/// The lines of one event loop that are not in the log yet; they go there before any answer leaves the loop.
///
/// A line is `ms connection stream token apnsId status` and a line feed: milliseconds since 1970 by the machine's clock,
/// numbers of the connection and the stream, the device token in lower-case hex, the `apns-id` as it came, and the status
/// of the answer. A dash stands for a token that is none, no `apns-id`, and for an answer that will not be given. Where
/// bodies are wanted, the rest of the line is the request's.
struct RequestLogLines {
  /// What is written early: some 400 lines, and all that this ever holds beyond a line.
  private static let most = 65_536
  private static let dash = UInt8(ascii: "-")
  private static let blank = UInt8(ascii: " ")

  private let log: RequestLog
  private var bytes: [UInt8] = []

  init(_ log: RequestLog) {
    self.log = log
    bytes.reserveCapacity(Self.most + 1024)
  }

  /// Adds a line.
  ///
  /// - Parameters:
  ///   - now: milliseconds since 1970.
  ///   - token: in lower-case hex; empty for what is no token.
  ///   - status: `nil` when the answer will not be given.
  ///   - body: `nil` where it is not wanted.
  mutating func add(
    now: Int, connection: Int, stream: Int32, token: [UInt8], id: MessageID?, status: Int?, body: [UInt8]? = nil
  ) throws(RequestLogError) {
    if bytes.count > Self.most { try flush() }
    append(now)
    append(connection)
    append(Int(stream))
    if token.isEmpty { bytes.append(Self.dash) } else { bytes += token }
    bytes.append(Self.blank)
    if let id { id.withText { bytes.append(contentsOf: $0) } } else { bytes.append(Self.dash) }
    bytes.append(Self.blank)
    if let status { append(status) } else { bytes += [Self.dash, Self.blank] }
    if let body {
      bytes += body.map { $0 == 0x0A ? Self.blank : $0 }
      bytes.append(Self.blank)
    }
    bytes[bytes.count - 1] = 0x0A
  }

  /// Writes what was added; cheap when nothing was.
  mutating func flush() throws(RequestLogError) {
    guard !bytes.isEmpty else { return }
    defer { bytes.removeAll(keepingCapacity: true) }
    // withUnsafeBytes has no typed throws.
    let result = bytes.withUnsafeBytes { lines in
      Result { () throws(RequestLogError) in try log.append(lines) }
    }
    try result.get()
  }

  /// A number without a sign, and a blank.
  private mutating func append(_ number: Int) {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
      var place = digits.count
      var rest = UInt(bitPattern: number)
      repeat {
        place -= 1
        digits[place] = 0x30 + UInt8(rest % 10)
        rest /= 10
      } while rest > 0
      bytes.append(contentsOf: digits[place...])
    }
    bytes.append(Self.blank)
  }
}
