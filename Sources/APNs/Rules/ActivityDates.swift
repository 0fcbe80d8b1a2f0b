internal import PushCore

/// Conversion of the dates in a job for a Live Activity to Apple's form: seconds since 1970. In a job, a date can also
/// be a duration from the campaign's start, or an RFC 3339 text. The default of `timestamp` is the campaign's start.
/// Pure.
///
/// The dates are computed once, when the campaign starts, and stored with the campaign. So a push that is sent again
/// has the same dates on every worker. If a device gets pushes of two campaigns, it shows the push of the campaign that
/// started later, because this push has the later `timestamp`.
struct ActivityDates {
  /// The keys of `aps` that are dates.
  static let keys = ["stale-date", "dismissal-date", "timestamp"]

  /// Replacements for the dates, in the order in which the dates occur in the text of the job.
  private var edits: [(range: Range<Int>, text: String)] = []
  private let start: Int
  private let isLocal: Bool
  private let isRepeated: Bool

  /// - Parameters:
  ///   - job: a job, or a single template.
  ///   - start: start of the campaign in UNIX seconds.
  /// - Throws: an error if a value is not a date.
  init(_ job: JSONValue, start: Int) throws(JobError) {
    self.start = start
    guard case .object(let members) = job.kind else {
      (isLocal, isRepeated) = (false, false)
      return
    }
    isRepeated = members.value("repeat") != nil
    isLocal = if let value = members.value("localTime"), !value.isFalse { true } else { false }
    try read(content: members, path: "", fillsTimestamp: !isLocal)
    if case .array(let variants)? = members.value("variants")?.kind {
      let isWhole = Self.aps(members) == nil
      for (index, variant) in variants.enumerated() {
        guard case .object(let members) = variant.kind else { continue }
        // A variant contains only differences from the job's payload, so it needs no timestamp, unless the job has no
        // payload or the variant has a template.
        let fills = !isLocal && (isWhole || members.value("template") != nil)
        try read(content: members, path: "variants[\(index)].", fillsTimestamp: fills)
      }
    }
    edits.sort { $0.range.lowerBound < $1.range.lowerBound }
  }

  /// Returns `apns.payload.aps` of a job, a variant or a language: its own `aps`, or the `aps` of its template if it
  /// has none.
  private static func aps(_ members: [JSONValue.Member]) -> JSONValue? {
    if case .object(let own)? = members.value(APNsService().name)?.kind,
      case .object(let payload)? = own.value("payload")?.kind, let aps = payload.value("aps")
    {
      return aps
    }
    guard case .object(let template)? = members.value("template")?.kind else { return nil }
    return aps(template)
  }

  /// Reads the content of a job or of one of its variants, and the content of its template.
  private mutating func read(
    content members: [JSONValue.Member], path: String, fillsTimestamp: Bool
  ) throws(JobError) {
    var fills = fillsTimestamp
    if case .object(let template)? = members.value("template")?.kind {
      try read(content: template, path: path + "template.", fillsTimestamp: fills)
      // If the template has `aps`, the object `apns` of the job contains only differences from the template.
      if Self.aps(template) != nil { fills = false }
    }
    let own = members.filter { $0.name != "template" }
    if let aps = Self.aps(own) { try read(aps, path: path + "apns.payload.aps", fillsTimestamp: fills) }
    if case .object(let patches)? = members.value("localized")?.kind {
      for patch in patches {
        guard case .object(let changes) = patch.value.kind, let aps = Self.aps(changes) else { continue }
        try read(aps, path: "\(path)localized.\(Excerpt.bare(patch.name)).apns.payload.aps", fillsTimestamp: false)
      }
    }
  }

  /// Reads the dates in `aps`.
  ///
  /// - Parameter fillsTimestamp: whether `aps` is the payload itself, not the differences of a language.
  private mutating func read(_ aps: JSONValue, path: String, fillsTimestamp: Bool) throws(JobError) {
    guard case .object(let members) = aps.kind else { return }
    for member in members where Self.keys.contains(member.name) {
      switch member.value.kind {
      case .string(let text):
        edits.append((member.value.range, "\(try seconds(text, of: member.name, path: path))"))
      case .null where member.name == "timestamp" && !isLocal:
        // `null` counts as missing. `null` also counts as missing in `localized`, where it would otherwise remove the
        // job's timestamp.
        edits.append((member.value.range, "\(start)"))
      default: break
      }
    }
    guard fillsTimestamp, !members.contains(where: { $0.name == "timestamp" }) else { return }
    let place = aps.range.lowerBound + 1
    edits.append((place..<place, "\"timestamp\":\(start)" + (members.isEmpty ? "" : ",")))
  }

  private func seconds(_ text: String, of key: String, path: String) throws(JobError) -> Int {
    func error(_ message: String, hint: String) -> JobError {
      JobError(field: "\(path).\(key)", message: message, hint: hint)
    }
    if let seconds = DurationText.seconds(text) {
      guard !isLocal else {
        throw error(
          "counts from the campaign's start, but with localTime each device has its own time",
          hint: "use an instant: \(Timestamp.form)")
      }
      guard key != "timestamp" || seconds == 0 else {
        throw error(
          "is after the campaign's start: devices would ignore every other update until then",
          hint: "omit it: the default is the campaign's start")
      }
      return start + seconds
    }
    guard let instant = Timestamp.milliseconds(text), instant >= 0 else {
      throw error(
        "\(Excerpt.quoted(text)) is not a date",
        hint:
          "it must be a duration from the campaign's start (\(DurationText.form)), \(Timestamp.form), or seconds since 1970"
      )
    }
    guard !isRepeated else {
      throw error("is one instant, but the job is recurring", hint: "use a duration, such as 2h")
    }
    return instant / 1000
  }

  /// Returns the text with the computed dates; `nil` if there are none.
  ///
  /// - Parameter bytes: the text from which the job was parsed.
  func applied(to bytes: [UInt8]) -> [UInt8]? {
    guard !edits.isEmpty else { return nil }
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count + 32 * edits.count)
    var end = 0
    for edit in edits {
      result += bytes[end..<edit.range.lowerBound]
      result += Array(edit.text.utf8)
      end = edit.range.upperBound
    }
    return result + bytes[end...]
  }
}

extension JSONValue {
  fileprivate var isFalse: Bool { if case .bool(false) = kind { true } else { false } }
}
