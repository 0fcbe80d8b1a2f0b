internal import PushCore

/// The dates of a Live Activity's push as a job may say them, in the place of Apple's seconds since 1970: a duration counts from
/// the campaign's start, an instant is RFC 3339. A timestamp that is missing is the start. Pure.
///
/// They are written out once, when the campaign begins, and kept with it: a push that is sent again, by whomever, says the same,
/// and of two campaigns the later one's counts on the device.
struct ActivityDates {
  /// The keys of `aps` that are dates.
  static let keys = ["stale-date", "dismissal-date", "timestamp"]

  /// What is put in the place of what the job says, in the order of the text.
  private var edits: [(range: Range<Int>, text: String)] = []
  private let start: Int
  private let isLocal: Bool
  private let isRepeated: Bool

  /// - Parameters:
  ///   - job: a job, or a template by itself.
  ///   - start: UNIX seconds.
  /// - Throws: what is no date.
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
      let isWhole = members.value("payload") == nil && members.value("template") == nil
      for (index, variant) in variants.enumerated() {
        guard case .object(let members) = variant.kind else { continue }
        // It says what differs from the job's own payload, unless there is none, or it has a template.
        let fills = !isLocal && (isWhole || members.value("template") != nil)
        try read(content: members, path: "variants[\(index)].", fillsTimestamp: fills)
      }
    }
    edits.sort { $0.range.lowerBound < $1.range.lowerBound }
  }

  /// What a job says, or one of its variants, itself or by its template.
  private mutating func read(
    content members: [JSONValue.Member], path: String, fillsTimestamp: Bool
  ) throws(JobError) {
    var (content, path) = (members, path)
    if case .object(let template)? = members.value("template")?.kind {
      (content, path) = (template, path + "template.")
    }
    if case .object(let payload)? = content.value("payload")?.kind, let aps = payload.value("aps") {
      try read(aps, path: path + "payload.aps", fillsTimestamp: fillsTimestamp)
    }
    if case .object(let patches)? = content.value("localized")?.kind {
      for patch in patches {
        guard case .object(let payload) = patch.value.kind, let aps = payload.value("aps") else { continue }
        try read(aps, path: "\(path)localized.\(Excerpt.bare(patch.name)).aps", fillsTimestamp: false)
      }
    }
  }

  /// - Parameter fillsTimestamp: whether it is the payload itself, and not what differs from it in a language.
  private mutating func read(_ aps: JSONValue, path: String, fillsTimestamp: Bool) throws(JobError) {
    guard case .object(let members) = aps.kind else { return }
    for member in members where Self.keys.contains(member.name) {
      switch member.value.kind {
      case .string(let text):
        edits.append((member.value.range, "\(try seconds(text, of: member.name, path: path))"))
      case .null where member.name == "timestamp" && !isLocal:
        // As good as missing, and a language can't be without it either.
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
          "counts from the campaign's start, but with localTime each device has a time of its own",
          hint: "give an instant: \(Timestamp.form)")
      }
      guard key != "timestamp" || seconds == 0 else {
        throw error(
          "is after the campaign's start: until then devices would drop every other update as older",
          hint: "leave it out: it is the campaign's start")
      }
      return start + seconds
    }
    guard let instant = Timestamp.milliseconds(text), instant >= 0 else {
      throw error(
        "\(Excerpt.quoted(text)) is no date",
        hint:
          "it must be a duration from the campaign's start (\(DurationText.form)), \(Timestamp.form), or seconds since 1970"
      )
    }
    guard !isRepeated else {
      throw error("is one instant, but the job is repeated", hint: "give a duration, such as 2h")
    }
    return instant / 1000
  }

  /// The text with the dates written out; `nil` where there is nothing to write.
  ///
  /// - Parameter bytes: what the job was parsed from.
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
