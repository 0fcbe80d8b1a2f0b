/// A parser for conditions over topics, such as `'a' in topics && !('b' in topics)`.
struct ConditionParser {
  /// Number of topics that were read.
  private(set) var topics = 0

  private var rest: Substring

  init(_ text: String) { rest = text[...] }

  /// Returns whether the whole text is a condition.
  mutating func parse() -> Bool {
    guard disjunction() else { return false }
    skipBlanks()
    return rest.isEmpty
  }

  private mutating func disjunction() -> Bool {
    repeat { guard conjunction() else { return false } } while take("||")
    return true
  }

  private mutating func conjunction() -> Bool {
    repeat { guard term() else { return false } } while take("&&")
    return true
  }

  private mutating func term() -> Bool {
    if take("!") { return term() }
    if take("(") { return disjunction() && take(")") }
    guard take("'"), let end = rest.firstIndex(of: "'"), end > rest.startIndex else { return false }
    rest = rest[rest.index(after: end)...]
    topics += 1
    return take("in") && take("topics")
  }

  private mutating func take(_ word: String) -> Bool {
    skipBlanks()
    guard rest.hasPrefix(word) else { return false }
    rest = rest.dropFirst(word.count)
    return true
  }

  private mutating func skipBlanks() { rest = rest.drop { $0 == " " } }
}
