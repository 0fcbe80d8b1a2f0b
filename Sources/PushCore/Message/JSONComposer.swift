/// Composer of JSON values from parts of a job and from new names and values.
///
/// A ``JSONValue`` refers to ranges of a text. The text of new parts follows the text of the job, so the parts of the
/// job keep their ranges.
public struct JSONComposer {
  /// Text of the job.
  let job: [UInt8]
  /// Text of the new parts.
  private var added: [UInt8] = []
  /// Range that new objects get: the range of the value from which they are made.
  private var place: Range<Int>

  /// - Parameter job: the text of the job.
  init(job: [UInt8]) {
    self.job = job
    place = job.count..<job.count
  }

  /// Returns the text in a range.
  func bytes(_ range: Range<Int>) -> ArraySlice<UInt8> {
    guard range.lowerBound >= job.count else { return job[range] }
    return added[(range.lowerBound - job.count)..<(range.upperBound - job.count)]
  }

  // MARK: New values

  /// Returns an object with new names. Members without a value are omitted.
  public mutating func object(_ members: KeyValuePairs<String, JSONValue?>) -> JSONValue {
    var object: [JSONValue.Member] = []
    for case (let name, let value?) in members { object.append(member(name, value)) }
    return self.object(object)
  }

  /// Returns an object with these members.
  public func object(_ members: [JSONValue.Member]) -> JSONValue { JSONValue(kind: .object(members), range: place) }

  /// Returns a member with a new name.
  public mutating func member(_ name: String, _ value: JSONValue) -> JSONValue.Member {
    JSONValue.Member(name: name, nameRange: append(string: name), value: value)
  }

  /// Returns a new string.
  public mutating func string(_ text: String) -> JSONValue {
    JSONValue(kind: .string(text), range: append(string: text))
  }

  /// Returns a new number.
  public mutating func number(_ number: Int) -> JSONValue {
    JSONValue(kind: .number("\(number)"), range: append("\(number)".utf8))
  }

  private mutating func append(string text: String) -> Range<Int> {
    var json = JSONWriter()
    json.value(text)
    return append(json.take())
  }

  private mutating func append(_ more: some Sequence<UInt8>) -> Range<Int> {
    let start = job.count + added.count
    added += more
    return start..<(job.count + added.count)
  }

  /// Returns the result of `make`. In `make`, new objects get the range of `value`, so errors and findings about them
  /// report the path of `value`.
  mutating func making<Result>(
    from value: JSONValue, _ make: (inout JSONComposer) throws(JobError) -> Result
  ) throws(JobError) -> Result {
    place = value.range
    return try make(&self)
  }

  // MARK: Text and places

  /// Returns the text of a value without white space between tokens, but otherwise as the producer wrote it.
  func text(of value: JSONValue) -> [UInt8] {
    var text: [UInt8] = []
    write(value, to: &text)
    return text
  }

  private func write(_ value: JSONValue, to text: inout [UInt8]) {
    switch value.kind {
    case .object(let members):
      text.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        text += bytes(member.nameRange)
        text.append(UInt8(ascii: ":"))
        write(member.value, to: &text)
      }
      text.append(UInt8(ascii: "}"))
    case .array(let elements):
      text.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        write(element, to: &text)
      }
      text.append(UInt8(ascii: "]"))
    case .string, .number, .bool, .null: text += bytes(value.range)
    }
  }

  /// Returns the path of a value in the job; `nil` for a new value. This function parses the job, so use it only for
  /// errors and findings.
  func path(of value: JSONValue) -> String? { value.path(in: job) }
}

extension JSONValue {
  /// Returns the path of the value in a job; `nil` if the value is not a part of it.
  func path(in job: [UInt8]) -> String? {
    guard range.upperBound <= job.count,
      let root = try? JSONValue(parsing: job, maximumDepth: CampaignJob.maximumNesting, allowsRepeats: true)
    else { return nil }
    return root.path(of: range)
  }

  /// Returns the path of a value in this job; `nil` if the value is not a part of it.
  func path(of value: JSONValue) -> String? { path(of: value.range) }

  /// Returns the path of the value with this range; `nil` for none.
  private func path(of place: Range<Int>) -> String? {
    if range == place { return "" }
    func matches(_ value: JSONValue) -> Bool {
      value.range.lowerBound <= place.lowerBound && place.upperBound <= value.range.upperBound
    }
    switch kind {
    case .object(let members):
      guard let member = members.first(where: { matches($0.value) }), let rest = member.value.path(of: place) else {
        return nil
      }
      let name = Excerpt.bare(member.name)
      return rest.isEmpty ? name : rest.hasPrefix("[") ? name + rest : "\(name).\(rest)"
    case .array(let elements):
      guard let index = elements.firstIndex(where: matches), let rest = elements[index].path(of: place) else {
        return nil
      }
      return rest.isEmpty || rest.hasPrefix("[") ? "[\(index)]\(rest)" : "[\(index)].\(rest)"
    case .string, .number, .bool, .null: return nil
    }
  }
}
