/// One device in a device list, read from one line. The values are views into the bytes of the line.
struct DeviceLine {
  /// The reason why a line is skipped.
  struct Problem: Error {
    var message: String
    init(_ message: String) { self.message = message }
  }

  private(set) var token: UnsafeRawBufferPointer
  private(set) var state = SimulatedDevice.State.registered
  private(set) var topic = UnsafeRawBufferPointer(start: nil, count: 0)
  private(set) var timestamp: Int64 = 0
  private(set) var environment: SimulatorEnvironment?

  /// - Parameter bytes: a line without its line break: a JSON object if it begins with a brace, otherwise CSV.
  /// - Returns: `nil` for the header line of a CSV file.
  init?(_ bytes: UnsafeRawBufferPointer) throws(Problem) {
    token = UnsafeRawBufferPointer(start: nil, count: 0)
    if bytes.first == UInt8(ascii: "{") {
      try readObject(bytes)
    } else {
      let fields = bytes.split(separator: UInt8(ascii: ","), maxSplits: 4, omittingEmptySubsequences: false)
      token = UnsafeRawBufferPointer(rebasing: fields[0])
      if token.matches("token") { return nil }
      if fields.count > 1 { try setState(UnsafeRawBufferPointer(rebasing: fields[1])) }
      if fields.count > 2 { topic = UnsafeRawBufferPointer(rebasing: fields[2]) }
      if fields.count > 3 { try setTimestamp(UnsafeRawBufferPointer(rebasing: fields[3])) }
      if fields.count > 4 { try setEnvironment(UnsafeRawBufferPointer(rebasing: fields[4])) }
    }
    if token.isEmpty { throw Problem("no token") }
  }

  private mutating func setState(_ value: UnsafeRawBufferPointer) throws(Problem) {
    if value.isEmpty || value.matches("registered") {
      state = .registered
    } else if value.matches("unregistered") {
      state = .unregistered
    } else if let known = SimulatedDevice.State(rawValue: String(decoding: value, as: UTF8.self)) {
      state = known
    } else {
      let names = SimulatedDevice.State.allCases.map(\.rawValue).joined(separator: ", ")
      throw Problem("no state \(String(decoding: value, as: UTF8.self)); there are \(names)")
    }
  }

  private mutating func setTimestamp(_ value: UnsafeRawBufferPointer) throws(Problem) {
    if value.isEmpty { return }
    guard let number = value.decimal else { throw Problem("the timestamp is not a number of milliseconds") }
    timestamp = number
  }

  private mutating func setEnvironment(_ value: UnsafeRawBufferPointer) throws(Problem) {
    if value.isEmpty { return }
    environment = SimulatorEnvironment(rawValue: String(decoding: value, as: UTF8.self))
    if environment == nil {
      throw Problem("no environment \(String(decoding: value, as: UTF8.self)); there are sandbox and production")
    }
  }

  /// Reads a flat object of strings and integers. Other JSON is not necessary for a device. This code needs only a
  /// fraction of the CPU time of a JSON decoder, which matters for lists of millions of devices.
  private mutating func readObject(_ bytes: UnsafeRawBufferPointer) throws(Problem) {
    var scanner = FlatObjectScanner(bytes)
    while let (name, value) = try scanner.next() {
      if name.matches("token") {
        token = value
      } else if name.matches("state") {
        try setState(value)
      } else if name.matches("topic") {
        topic = value
      } else if name.matches("timestamp") {
        try setTimestamp(value)
      } else if name.matches("environment") {
        try setEnvironment(value)
      } else {
        throw Problem(
          "no field \(String(decoding: name, as: UTF8.self)); "
            + "there are token, state, topic, timestamp and environment")
      }
    }
  }
}
