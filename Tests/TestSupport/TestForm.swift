import Foundation

/// The short and the long form of slow tests.
public enum TestForm {
  /// Whether the long form runs: `CARILLON_TEST_FORM=long`, as `make faults` sets it.
  public static let isLong = ProcessInfo.processInfo.environment["CARILLON_TEST_FORM"] == "long"

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

  /// Returns every combination of two lists in the long form. In the short form each value of either list occurs at
  /// least once.
  public static func pairs<First, Second>(_ first: [First], _ second: [Second]) -> [(First, Second)] {
    if isLong { return first.flatMap { one in second.map { (one, $0) } } }
    return (0..<max(first.count, second.count)).map { (first[$0 % first.count], second[$0 % second.count]) }
  }
}
