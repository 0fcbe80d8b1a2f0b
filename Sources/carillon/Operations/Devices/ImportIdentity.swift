import CommandSupport
import PushCore
import TLS

/// The identity of an import: the file's size, modification time and first bytes, and the options that change the
/// meaning of its rows. The path is not included, because a file may have several paths.
enum ImportIdentity {
  /// Returns the identity of an import.
  ///
  /// - Parameters:
  ///   - input: a regular file.
  ///   - beginning: the first bytes of the file.
  ///   - format: the format of the file.
  ///   - app: the app of rows without an app.
  ///   - system: the system that wrote the export; `nil` for Carillon's own columns.
  /// - Returns: a digest in hex; `nil` for a pipe or a terminal, from which an import can't be resumed.
  static func of(
    _ input: InputFile, beginning: [UInt8], format: DeviceRowReader.Format, app: String, from system: ForeignSystem?
  ) -> String? {
    guard let size = input.size else { return nil }
    let options = "\(size) \(input.modified) \(format.rawValue) \(app) \(system?.rawValue ?? "-")\n"
    let digest = Digest(.sha256).hash(Array(options.utf8) + beginning)
    return String(decoding: Hex.encode(digest.prefix(16)), as: UTF8.self)
  }
}
