/// Rule that defines a segment instead of a list of users: an expression, optionally with a condition. The members of
/// the segment are the users of the expression who have a device that meets the condition, at the time of evaluation.
public struct SegmentDefinition: Sendable, Equatable {
  /// Expression over segments, which may be rules too.
  public var expression: AudienceExpression
  /// Condition that at least one device of a member meets; `nil` for none.
  public var predicate: DevicePredicate?

  /// Creates an instance with these values.
  public init(expression: AudienceExpression, predicate: DevicePredicate? = nil) {
    self.expression = expression
    self.predicate = predicate
  }

  /// Writes the definition in its stored form.
  public func write(to json: inout JSONWriter) {
    json.beginObject()
    json.member("expression", expression.description)
    if let predicate { json.member("where", predicate.description) }
    json.endObject()
  }

  /// Definition in its stored form.
  public var json: [UInt8] {
    var json = JSONWriter()
    write(to: &json)
    return json.take()
  }

  /// - Parameter json: the stored form.
  /// - Returns: `nil` if the text is not a definition.
  public init?(_ json: [UInt8]) {
    guard let value = try? JSONValue(parsing: json, maximumDepth: 4) else { return nil }
    self.init(value)
  }

  fileprivate init?(_ value: JSONValue) {
    guard case .object(let members) = value.kind, case .string(let text)? = members.value("expression")?.kind,
      let expression = try? AudienceExpression(parsing: text)
    else { return nil }
    self.expression = expression
    switch members.value("where")?.kind {
    case nil: break
    case .string(let text)?:
      guard let predicate = try? DevicePredicate(parsing: text) else { return nil }
      self.predicate = predicate
    default: return nil
    }
  }
}

extension SegmentDefinition: CustomStringConvertible {
  /// Text for people.
  public var description: String { expression.description + (predicate.map { ", where \($0)" } ?? "") }
}

/// Segment rules by name: all rules of a store, or the rules on which an audience depends.
public struct SegmentDefinitions: Sendable, Equatable {
  /// Rules by name.
  public private(set) var all: [String: SegmentDefinition]
  /// Names of rules that can't be read. Only expressions that depend on such a rule are invalid.
  public private(set) var unreadable: Set<String> = []

  /// Maximum nesting of rules that name other rules.
  public static let maximumNesting = 8
  /// Maximum number of segments that an audience and its rules name, with repetitions. Each one is evaluated for every
  /// user.
  public static let maximumTerms = 1024
  /// Maximum size in bytes of all rules on which an audience depends: enough for a few hundred rules, each with an
  /// expression and a condition.
  public static let longest = 1 << 24
  /// Maximum number of rules in a store.
  public static let maximumCount = 500

  /// - Parameters:
  ///   - all: the rules by name.
  ///   - unreadable: the names of rules that can't be read.
  public init(_ all: [String: SegmentDefinition] = [:], unreadable: Set<String> = []) {
    self.all = all
    self.unreadable = unreadable
  }

  /// The rule that defines the segment with this name; `nil` if the segment is a list of users or does not exist.
  public subscript(name: String) -> SegmentDefinition? { all[name] }

  /// Whether the set lacks readable rules.
  public var isEmpty: Bool { all.isEmpty }

  /// Returns the rules on which expressions depend, directly or through other rules.
  ///
  /// - Throws: an error if the rules form a cycle, or are too deep or too many.
  public func reached(
    from expressions: [AudienceExpression]
  ) throws(SegmentDefinitionError) -> SegmentDefinitions {
    var reached: [String: SegmentDefinition] = [:]
    var total = 0
    for expression in expressions { total += try count(expression, [], &reached) }
    guard total <= Self.maximumTerms else { throw .tooManyTerms }
    return SegmentDefinitions(reached)
  }

  /// Checks that every rule can be resolved, except rules that depend on an unreadable one.
  public func check() throws(SegmentDefinitionError) {
    for name in all.keys.sorted() {
      do {
        _ = try reached(from: [AudienceExpression(root: .segment(name))])
      } catch .unreadable {
        continue
      } catch {
        throw error
      }
    }
  }

  /// Checks the rules on which an expression depends, and collects them in `reached`.
  ///
  /// - Parameter path: names of the rules through which the check reached this expression.
  /// - Returns: the number of segments in the expression and in the rules on which it depends, with repetitions.
  private func count(
    _ expression: AudienceExpression, _ path: [String], _ reached: inout [String: SegmentDefinition]
  ) throws(SegmentDefinitionError) -> Int {
    var total = 1
    for (name, times) in expression.namesWithRepetitions {
      var inner = 1
      guard !unreadable.contains(name) else { throw .unreadable(name) }
      if let definition = all[name] {
        if path.contains(name) { throw .cycle(Array(path.drop { $0 != name }) + [name]) }
        guard path.count < Self.maximumNesting else { throw .tooDeep(path + [name]) }
        reached[name] = definition
        inner = try count(definition.expression, path + [name], &reached)
      }
      total += times * inner
      // The sum already exceeds the limit. Stopping here also limits the work if rules name many other rules.
      guard total <= Self.maximumTerms else { throw .tooManyTerms }
    }
    return total
  }

  /// Returns the names of the rules that refer to a segment, sorted.
  public func users(of name: String) -> [String] {
    all.filter { $0.value.expression.segmentNames.contains(name) }.map(\.key).sorted()
  }

  /// Rules in the form that is stored with a campaign.
  public var json: [UInt8] {
    var json = JSONWriter()
    write(to: &json)
    return json.take()
  }

  /// Writes an object with the rules by name.
  public func write(to json: inout JSONWriter) {
    json.beginObject()
    for (name, definition) in all.sorted(by: { $0.key < $1.key }) {
      json.name(name)
      definition.write(to: &json)
    }
    json.endObject()
  }

  /// - Parameter json: the form that is stored with a campaign.
  /// - Returns: `nil` if the text is not a set of rules.
  public init?(_ json: [UInt8]) {
    guard let value = try? JSONValue(parsing: json, maximumDepth: 4), case .object(let members) = value.kind else {
      return nil
    }
    all = [:]
    for member in members {
      guard let definition = SegmentDefinition(member.value) else { return nil }
      all[member.name] = definition
    }
  }

  /// Returns the rules of both sets. If both sets have a rule with the same name, the result contains the rule of this
  /// set.
  public func or(_ other: SegmentDefinitions) -> SegmentDefinitions {
    SegmentDefinitions(
      all.merging(other.all) { own, _ in own }, unreadable: unreadable.union(other.unreadable.subtracting(all.keys)))
  }

  /// Returns these rules with one rule added or replaced.
  public func with(_ definition: SegmentDefinition, named name: String) -> SegmentDefinitions {
    var definitions = self
    definitions.all[name] = definition
    definitions.unreadable.remove(name)
    return definitions
  }
}

/// Reason why a rule can't be resolved.
public enum SegmentDefinitionError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The rule contains itself through these rules.
  case cycle([String])
  /// The chain of rules that name each other is too long.
  case tooDeep([String])
  /// The rules name too many segments.
  case tooManyTerms
  /// The definition of this segment can't be read.
  case unreadable(String)

  public var description: String {
    switch self {
    case .cycle(let names): "it would contain itself: \(names.joined(separator: " → "))"
    case .tooDeep(let names):
      "\(names.joined(separator: " → ")) has more than \(SegmentDefinitions.maximumNesting) levels of definitions"
    case .tooManyTerms:
      "with all nested definitions it uses more than \(SegmentDefinitions.maximumTerms) segments"
    case .unreadable(let name):
      "the definition of the segment \(Excerpt.quoted(name)) in Redis can't be read"
    }
  }
}

extension AudienceExpression {
  /// All segments in the expression, with the number of occurrences.
  fileprivate var namesWithRepetitions: [(name: String, times: Int)] {
    var counts: [String: Int] = [:]
    root.countNames(into: &counts)
    return counts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}

extension AudienceExpression.Node {
  fileprivate func countNames(into counts: inout [String: Int]) {
    switch self {
    case .segment(let name): counts[name, default: 0] += 1
    case .allUsers: break
    case .not(let node): node.countNames(into: &counts)
    case .and(let left, let right), .or(let left, let right):
      left.countNames(into: &counts)
      right.countNames(into: &counts)
    }
  }
}
