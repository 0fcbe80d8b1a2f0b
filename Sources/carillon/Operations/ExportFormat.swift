import CommandSupport
import PushCore

extension GlobalOptions {
  /// Returns the format of an export. With `--json`, the format is always NDJSON.
  ///
  /// - Parameters:
  ///   - given: the value of `--format`.
  ///   - standard: the default format.
  /// - Throws: ``CommandError`` `usage` if the options contradict each other.
  func exportFormat(
    _ given: DeviceRowReader.Format?, standard: DeviceRowReader.Format
  ) throws(CommandError) -> DeviceRowReader.Format {
    guard json else { return given ?? standard }
    guard given != .csv else {
      throw CommandError(
        .usage, "--format csv and --json contradict each other",
        hint: "remove one of them; --json means --format ndjson")
    }
    return .ndjson
  }
}
