import CommandSupport
import PushCore

extension GlobalOptions {
  /// The format of an export: `--json` is NDJSON, and can be nothing else.
  ///
  /// - Parameters:
  ///   - given: by `--format`.
  ///   - standard: the format unless one is given.
  /// - Throws: ``CommandError`` `usage` when the two contradict each other.
  func exportFormat(
    _ given: DeviceRowReader.Format?, standard: DeviceRowReader.Format
  ) throws(CommandError) -> DeviceRowReader.Format {
    guard json else { return given ?? standard }
    guard given != .csv else {
      throw CommandError(
        .usage, "--format csv and --json contradict each other", hint: "leave one out: --json is --format ndjson")
    }
    return .ndjson
  }
}
