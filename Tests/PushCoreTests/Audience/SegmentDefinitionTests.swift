import PushCore
import TestKit
import TestSupport
import Testing

/// Segments that are rules: the segments that they use, and the limits against cycles.
struct SegmentDefinitionTests {
  private func definitions(_ rules: [String: String]) throws -> SegmentDefinitions {
    SegmentDefinitions(try rules.mapValues { SegmentDefinition(expression: try AudienceExpression(parsing: $0)) })
  }

  private func error(_ rules: [String: String]) throws -> SegmentDefinitionError? {
    let definitions = try definitions(rules)
    return #expect(throws: SegmentDefinitionError.self) { try definitions.check() }
  }

  @Test func definitionsOfAnExpressionAreFound() throws {
    let all = try definitions(["a": "b & x", "b": "c | !y", "c": "*", "d": "a"])
    let reached = try all.reached(from: [AudienceExpression(parsing: "a & z"), AudienceExpression(parsing: "q")])
    expect(reached.all.keys.sorted(), is: ["a", "b", "c"])
    expect(try all.reached(from: [AudienceExpression(parsing: "x")]).isEmpty)
    expect(all.users(of: "a") == ["d"] && all.users(of: "y") == ["b"] && all.users(of: "d").isEmpty)
  }

  @Test func cycleIsRefused() throws {
    expect(try error(["a": "a"]), is: .cycle(["a", "a"]))
    expect(try error(["a": "x & !b", "b": "c | x", "c": "a"]), is: .cycle(["a", "b", "c", "a"]))
    expect("\(try #require(try error(["a": "b", "b": "a"])))", is: "it would contain itself: a → b → a")
  }

  @Test func depthAndSizeAreBounded() throws {
    var chain = ["d1": "x"]
    for number in 2...8 { chain["d\(number)"] = "d\(number - 1) & x" }
    try definitions(chain).check()
    chain["d9"] = "d8"
    expect(try error(chain).map { "\($0)" }?.contains("more than 8 levels of definitions"), is: true)
    // Each rule names the one before it ten times.
    var doubled = ["d1": "x"]
    for number in 2...4 {
      doubled["d\(number)"] = Array(repeating: "d\(number - 1)", count: 10).joined(separator: " | ")
    }
    expect(try error(doubled), is: .tooManyTerms)
    // Every level has the maximum number of names. The check ends before it has read all of them.
    var wide: [String: String] = [:]
    for level in 0..<8 {
      for place in 0..<100 {
        wide["l\(level)p\(place)"] = (0..<100).map { "l\(level + 1)p\($0)" }.joined(separator: " | ")
      }
    }
    expect(try error(wide), is: .tooManyTerms)
  }

  @Test func storedValueIsReadAndInvalidBytesAreNot() throws {
    let predicate = try DevicePredicate(parsing: #"locale = 'en' & "odd name" prefix 'x"y'"#)
    let definition = SegmentDefinition(expression: try AudienceExpression(parsing: "a&(b|!c)"), predicate: predicate)
    expect(SegmentDefinition(definition.json), is: definition)
    expect("\(definition)", is: #"a & (b | !c), where locale = 'en' & "odd name" prefix 'x"y'"#)
    let all = SegmentDefinitions(["x": definition, "y": SegmentDefinition(expression: definition.expression)])
    expect(SegmentDefinitions(all.json), is: all)
    for text in [
      "", "{}", "[]", #"{"expression":"a &"}"#, #"{"expression":"a","where":"x"}"#, #"{"expression":"a","where":1}"#,
    ] {
      expect(SegmentDefinition(Array(text.utf8)), is: nil, "\(text)")
    }
    for text in ["", "[]", #"{"a":1}"#, #"{"a":{}}"#] {
      expect(SegmentDefinitions(Array(text.utf8)), is: nil, "\(text)")
    }
  }

  /// Compares the result with a search of all paths.
  @Test func everyCycleIsFound() throws {
    var seed = Seed("everyCycleIsFound")
    var cyclic = 0
    for _ in 0..<2000 {
      var edges: [String: Set<String>] = [:]
      for name in ["a", "b", "c", "d", "e"] where Bool.random(using: &seed) {
        edges[name] = Set(["a", "b", "c", "d", "e", "x"].filter { _ in Int.random(in: 0..<4, using: &seed) == 0 })
        if edges[name]?.isEmpty == true { edges[name] = ["x"] }
      }
      // The remaining rules form a cycle after all rules without a reference to a remaining rule are removed
      // repeatedly.
      var left = edges
      while let end = left.first(where: { $0.value.isDisjoint(with: left.keys) }) {
        left[end.key] = nil
      }
      let definitions = try definitions(edges.mapValues { $0.sorted().joined(separator: " & ") })
      if left.isEmpty {
        try definitions.check()
      } else {
        cyclic += 1
        #expect(throws: SegmentDefinitionError.self, "\(edges), seed \(seed.value)") { try definitions.check() }
      }
    }
    expect(100...1900 ~= cyclic)
  }
}
