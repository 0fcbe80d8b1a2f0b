/// Lines of one event loop that are not in the log yet. They are written before any answer leaves the loop.
///
/// A line is `ms connection stream token apnsId status` and a line feed. The fields are:
///
/// - milliseconds since 1970 on the machine's clock
/// - the numbers of the connection and the stream
/// - the device token in lower-case hex, or a dash if it is invalid
/// - the `apns-id` as received, or a dash without one
/// - the status of the answer, or a dash if the request gets no answer
/// - the request's body, if bodies are logged
struct RequestLogLines {
  /// Maximum number of collected bytes, about 400 lines. At this size, the lines are written early.
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
  ///   - token: in lower-case hex; empty if it is invalid.
  ///   - status: `nil` if the request gets no answer.
  ///   - body: `nil` if bodies are not logged.
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

  /// Writes the added lines. The call is cheap if there are none.
  mutating func flush() throws(RequestLogError) {
    guard !bytes.isEmpty else { return }
    defer { bytes.removeAll(keepingCapacity: true) }
    // withUnsafeBytes has no typed throws.
    let result = bytes.withUnsafeBytes { lines in
      Result { () throws(RequestLogError) in try log.append(lines) }
    }
    try result.get()
  }

  /// Appends a number without a sign, and a blank.
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
