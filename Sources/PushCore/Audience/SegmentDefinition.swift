/// A segment that is no list of users but a rule: an expression, perhaps with a condition. It has whoever the expression
/// means and who has a device for which the condition holds, at the moment at which that is asked.
public struct SegmentDefinition: Sendable, Equatable {
  /// Over segments, which may be rules too.
  public var expression: AudienceExpression
  /// What holds of a device that makes its user a member; `nil` for none.
  public var predicate: DevicePredicate?

  /// Memberwise.
  public init(expression: AudienceExpression, predicate: DevicePredicate? = nil) {
    self.expression = expression
    self.predicate = predicate
  }

  /// As it is stored.
  public func write(to json: inout JSONWriter) {
    json.beginObject()
    json.member("expression", expression.description)
    if let predicate { json.member("where", predicate.description) }
    json.endObject()
  }

  /// As it is stored.
  public var json: [UInt8] {
    var json = JSONWriter()
    write(to: &json)
    return json.take()
  }

  /// - Parameter json: as it is stored.
  /// - Returns: `nil` for what is none.
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
  /// For people.
  public var description: String { expression.description + (predicate.map { ", where \($0)" } ?? "") }
}

/// Segments that are rules, by their names: all there are, or those that an audience depends on.
public struct SegmentDefinitions: Sendable, Equatable {
  /// By name.
  public private(set) var all: [String: SegmentDefinition]
  /// The names of rules that can't be read. They concern only what names them.
  public private(set) var unreadable: Set<String> = []

  /// How deep rules may stand in each other.
  public static let maximumNesting = 8
  /// How many segments an audience may name with all that its rules name, with repetitions: it is asked of every user.
  public static let maximumTerms = 1024
  /// Bytes of all that an audience depends on: a few hundred names, each of them perhaps a rule with a condition.
  public static let longest = 1 << 24
  /// How many rules a store keeps.
  public static let maximumCount = 500

  /// - Parameters:
  ///   - all: by name.
  ///   - unreadable: The names of rules that can't be read.
  public init(_ all: [String: SegmentDefinition] = [:], unreadable: Set<String> = []) {
    self.all = all
    self.unreadable = unreadable
  }

  /// The rule of this name; `nil` where it is none.
  public subscript(name: String) -> SegmentDefinition? { all[name] }

  /// Whether there are none.
  public var isEmpty: Bool { all.isEmpty }

  /// Those that expressions lead to, through other rules too.
  ///
  /// - Throws: when that would not end, or takes too much.
  public func reached(
    from expressions: [AudienceExpression]
  ) throws(SegmentDefinitionError) -> SegmentDefinitions {
    var reached: [String: SegmentDefinition] = [:]
    var total = 0
    for expression in expressions { total += try count(expression, [], &reached) }
    guard total <= Self.maximumTerms else { throw .tooManyTerms }
    return SegmentDefinitions(reached)
  }

  /// Makes sure that every rule can be followed, but for those that lead to one that can't be read.
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

  /// - Parameter path: the rules that led here.
  /// - Returns: how many segments the expression stands for, with repetitions.
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
      // Enough to be refused; it also ends what rules that name many rules each would make of it.
      guard total <= Self.maximumTerms else { throw .tooManyTerms }
    }
    return total
  }

  /// The rules that name another one, sorted.
  public func users(of name: String) -> [String] {
    all.filter { $0.value.expression.segmentNames.contains(name) }.map(\.key).sorted()
  }

  /// As they are stored with a campaign.
  public var json: [UInt8] {
    var json = JSONWriter()
    write(to: &json)
    return json.take()
  }

  /// As an object: name to rule.
  public func write(to json: inout JSONWriter) {
    json.beginObject()
    for (name, definition) in all.sorted(by: { $0.key < $1.key }) {
      json.name(name)
      definition.write(to: &json)
    }
    json.endObject()
  }

  /// - Parameter json: as they are stored with a campaign.
  /// - Returns: `nil` for what is none.
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

  /// These, and of another set those that are not among them.
  public func or(_ other: SegmentDefinitions) -> SegmentDefinitions {
    SegmentDefinitions(
      all.merging(other.all) { own, _ in own }, unreadable: unreadable.union(other.unreadable.subtracting(all.keys)))
  }

  /// These with one more, or one replaced.
  public func with(_ definition: SegmentDefinition, named name: String) -> SegmentDefinitions {
    var definitions = self
    definitions.all[name] = definition
    definitions.unreadable.remove(name)
    return definitions
  }
}

/// Why a rule can't be followed.
public enum SegmentDefinitionError: Error, Equatable, Sendable, CustomStringConvertible {
  /// It comes back to itself, by way of these.
  case cycle([String])
  /// These stand in each other.
  case tooDeep([String])
  /// Too many segments are named.
  case tooManyTerms
  /// The definition of this segment can't be read.
  case unreadable(String)

  public var description: String {
    switch self {
    case .cycle(let names): "it would contain itself: \(names.joined(separator: " → "))"
    case .tooDeep(let names):
      "\(names.joined(separator: " → ")) is deeper than \(SegmentDefinitions.maximumNesting) definitions in each other"
    case .tooManyTerms:
      "with all that it is defined by it names more than \(SegmentDefinitions.maximumTerms) segments"
    case .unreadable(let name):
      "the definition of the segment \(Excerpt.quoted(name)) in Redis can't be read"
    }
  }
}

extension AudienceExpression {
  /// Every segment that is named, and how often.
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
    case .everybody: break
    case .not(let node): node.countNames(into: &counts)
    case .and(let left, let right), .or(let left, let right):
      left.countNames(into: &counts)
      right.countNames(into: &counts)
    }
  }
}
