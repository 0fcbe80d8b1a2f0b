import CommandSupport
import PushCore
import TLS

/// What tells a file that is imported, and how it is read, from all others: size, time of its last change, how it begins,
/// and the options that say what its rows mean. Its path is no part of it: a file may be named in many ways.
enum ImportIdentity {
  /// - Parameters:
  ///   - input: a regular file.
  ///   - beginning: its first bytes.
  ///   - format: as it is read.
  ///   - app: of rows that name none.
  ///   - system: whose export it is; `nil` for columns of ours.
  /// - Returns: hex; `nil` for a pipe or a terminal, where nobody can go on.
  static func of(
    _ input: InputFile, beginning: [UInt8], format: DeviceRowReader.Format, app: String, from system: ForeignSystem?
  ) -> String? {
    guard let size = input.size else { return nil }
    let options = "\(size) \(input.modified) \(format.rawValue) \(app) \(system?.rawValue ?? "-")\n"
    let digest = Digest(.sha256).hash(Array(options.utf8) + beginning)
    return String(decoding: Hex.encode(digest.prefix(16)), as: UTF8.self)
  }
}
