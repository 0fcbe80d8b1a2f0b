import Foundation

/// The short and the long form of slow tests.
public enum TestForm {
  /// Whether the long form runs: `CARILLON_TEST_FORM=long`, as `make faults` sets it.
  public static let isLong = ProcessInfo.processInfo.environment["CARILLON_TEST_FORM"] == "long"

  /// A number that selects the cases of the short form that do not run every time: `CARILLON_TEST_SEED`, or a random
  /// number.
  public static let turn: UInt64 =
    ProcessInfo.processInfo.environment["CARILLON_TEST_SEED"].flatMap { UInt64($0) } ?? .random(in: 0..<100_000)

  /// The number of parts of the slow suites.
  public static let parts: UInt64 = 6

  /// Returns whether this run plays a test of a slow suite: the whole runs play all of them, others one part.
  ///
  /// - Parameter name: the file and the name of the test.
  public static func hasTurn(_ name: String) -> Bool { isWhole || isInPart(test: name, turn: turn) }

  /// Returns whether a test is in the part of a turn.
  ///
  /// The part does not depend on other tests. Two consecutive turns have the same part, because the engine changes with
  /// each turn: in `2 * parts` consecutive turns, each test runs with each engine.
  public static func isInPart(test name: String, turn: UInt64) -> Bool {
    // FNV-1a. Its upper bits divide the processor time of the present suites evenly.
    let hash = name.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 } >> 36
    return (hash + turn / 2).isMultiple(of: parts)
  }

  private static let isWhole = isWhole(
    arguments: CommandLine.arguments, environment: ProcessInfo.processInfo.environment)

  /// Returns whether a run plays every test of the slow suites: in the long form, with `CARILLON_TEST_PART=all`, and if
  /// `--filter` selects the tests.
  public static func isWhole(arguments: [String], environment: [String: String]) -> Bool {
    environment["CARILLON_TEST_FORM"] == "long" || environment["CARILLON_TEST_PART"] == "all"
      || arguments.contains { $0 == "--filter" || $0.hasPrefix("--filter=") }
  }

  /// Returns the number for the form that runs.
  public static func count(short: Int, long: Int) -> Int { isLong ? long : short }

  /// Returns all rows of a table in the long form, and the first row of each class in the short form.
  ///
  /// - Parameter kind: the class of a row. Rows of one class run through the same code.
  public static func rows<Row, Kind: Hashable>(_ rows: [Row], oneOfEach kind: (Row) -> Kind) -> [Row] {
    if isLong { return rows }
    var seen: Set<Kind> = []
    return rows.filter { seen.insert(kind($0)).inserted }
  }

  /// Returns all rows of a table in the long form. In the short form, every run plays one part of them.
  ///
  /// - Parameter parts: the number of parts. In `2 * TestForm.parts * parts` consecutive turns, each row runs with each
  ///   engine, also in a slow suite.
  public static func rows<Row>(_ rows: [Row], inParts parts: Int) -> [Row] {
    isLong
      ? rows : rows.enumerated().filter { isInPart(row: $0.offset, of: UInt64(parts), turn: turn) }.map(\.element)
  }

  /// Returns whether a row is in the part of a turn. The part of the rows changes after the slow suites have played all
  /// of their parts.
  public static func isInPart(row: Int, of parts: UInt64, turn: UInt64) -> Bool {
    UInt64(row) % parts == turn / (2 * Self.parts) % parts
  }

  /// Returns every combination of two lists in the long form. In the short form each value of either list occurs at
  /// least once.
  public static func pairs<First, Second>(_ first: [First], _ second: [Second]) -> [(First, Second)] {
    if isLong { return first.flatMap { one in second.map { (one, $0) } } }
    return (0..<max(first.count, second.count)).map { (first[$0 % first.count], second[$0 % second.count]) }
  }
}
