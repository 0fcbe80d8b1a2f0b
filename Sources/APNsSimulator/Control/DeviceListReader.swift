/// Reads a list of devices that arrives in pieces. The lines are CSV, NDJSON objects, or both. The fields are those of
/// ``DeviceLine`` for APNs and of ``RegistrationLine`` for FCM.
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
    /// The first ``maximumErrors`` problems.
    var errors: [Problem] = []
  }

  private static let maximumErrors = 20
  /// Maximum length of a line in bytes. The longest token has 510 digits, the longest topic 255 characters.
  private static let longestLine = 4096

  /// Reads one line and stores its device. Returns `false` for a header line.
  typealias Taking = (UnsafeRawBufferPointer) throws(DeviceLine.Problem) -> Bool

  private let takeLine: Taking
  private var rest: [UInt8] = []
  private var isSkippingLine = false
  private var line = 0
  private var report = Report()

  /// Creates a reader of devices of APNs.
  init(registry: DeviceRegistry) {
    let devices = DeviceLineStore(registry: registry)
    takeLine = { (line) throws(DeviceLine.Problem) in try devices.take(line) }
  }

  /// Creates a reader of registrations of FCM.
  init(_ devices: FCMDevices) {
    takeLine = { (line) throws(DeviceLine.Problem) in
      guard let registration = try RegistrationLine.read(line) else { return false }
      devices.set(registration)
      return true
    }
  }

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
      if try takeLine(bytes) { report.loaded += 1 }
    } catch {
      skip(error.message)
    }
  }

  private mutating func skip(_ message: String) {
    report.skipped += 1
    if report.errors.count < Self.maximumErrors { report.errors.append(Report.Problem(line: line, message: message)) }
  }
}
