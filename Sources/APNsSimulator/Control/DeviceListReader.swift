/// Reads a list of devices in pieces: CSV lines `token,state,topic,timestamp,environment`, NDJSON objects with the same
/// names, or both.
struct DeviceListReader {
  /// The result of loading a list.
  struct Report: Codable, Equatable {
    /// A line that was skipped.
    struct Problem: Codable, Equatable {
      var line: Int
      var message: String
    }

    var loaded = 0
    var skipped = 0
    /// The first ``mostErrors`` problems.
    var errors: [Problem] = []
  }

  private static let mostErrors = 20
  /// Limit of a line in bytes. The longest token has 510 digits, the longest topic 255 characters.
  private static let longestLine = 4096

  private let registry: DeviceRegistry
  private var rest: [UInt8] = []
  private var isSkippingLine = false
  private var line = 0
  private var report = Report()
  private var topics: [[UInt8]: DeviceRegistry.TopicID] = [:]

  init(registry: DeviceRegistry) { self.registry = registry }

  /// Reads the next bytes. A line may begin in one piece and end in another.
  mutating func read(_ bytes: UnsafeRawBufferPointer) {
    var start = 0
    for index in 0..<bytes.count where bytes[index] == 0x0A {
      let piece = UnsafeRawBufferPointer(rebasing: bytes[start..<index])
      start = index + 1
      if rest.isEmpty, !isSkippingLine {
        take(piece)
      } else {
        keep(piece)
        takeRest()
      }
    }
    keep(UnsafeRawBufferPointer(rebasing: bytes[start...]))
  }

  /// Reads a last line without line feed and returns the report.
  mutating func finish() -> Report {
    if !rest.isEmpty || isSkippingLine { takeRest() }
    return report
  }

  private mutating func keep(_ piece: UnsafeRawBufferPointer) {
    guard !isSkippingLine else { return }
    rest.append(contentsOf: piece)
    if rest.count > Self.longestLine { isSkippingLine = true }
  }

  private mutating func takeRest() {
    let text = rest
    rest.removeAll(keepingCapacity: true)
    if isSkippingLine {
      isSkippingLine = false
      line += 1
      skip("longer than \(Self.longestLine) bytes")
    } else {
      text.withUnsafeBytes { take($0) }
    }
  }

  private mutating func take(_ bytes: UnsafeRawBufferPointer) {
    line += 1
    var bytes = bytes
    if bytes.last == 0x0D { bytes = UnsafeRawBufferPointer(rebasing: bytes.dropLast()) }
    guard !bytes.isEmpty else { return }
    do {
      guard let device = try DeviceLine(bytes) else { return }
      try add(device)
      report.loaded += 1
    } catch {
      skip(error.message)
    }
  }

  private mutating func add(_ device: DeviceLine) throws(DeviceLine.Problem) {
    let topic = device.topic.isEmpty ? DeviceRegistry.anyTopic : number(device.topic)
    let record = TokenTable.Record(
      state: device.state, topic: topic, timestamp: device.timestamp, environment: device.environment)
    let isToken = withUnsafeTemporaryAllocation(byteCount: 255, alignment: 8) { buffer in
      guard let count = Hex.decode(device.token, into: buffer) else { return false }
      registry.set(UnsafeRawBufferPointer(rebasing: buffer[..<count]), record)
      return true
    }
    if !isToken { throw DeviceLine.Problem("the token is not 2 to 510 hexadecimal digits, even in number") }
  }

  /// Returns the topic's number. A list has few topics, so the registry's lock is taken only once for each topic.
  private mutating func number(_ topic: UnsafeRawBufferPointer) -> DeviceRegistry.TopicID {
    let topic = Array(topic)
    if let known = topics[topic] { return known }
    let number = registry.topicID(topic)
    topics[topic] = number
    return number
  }

  private mutating func skip(_ message: String) {
    report.skipped += 1
    if report.errors.count < Self.mostErrors { report.errors.append(Report.Problem(line: line, message: message)) }
  }
}
