public import Foundation
import Synchronization

/// A private folder for a test. It is deleted with the last reference or at the end of the process.
public final class ScratchFolder: Sendable {
  /// The folder.
  public let url: URL

  /// - Parameter name: a name that identifies the folder while the test runs.
  public init(_ name: String = "carillon") throws {
    url = FileManager.default.temporaryDirectory.appending(path: "\(name)-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    Leftovers.add(url)
  }

  deinit { Leftovers.delete(url) }

  /// Returns the path of a file in the folder.
  public func path(_ name: String) -> String { url.appending(path: name).path }

  /// Writes a file into the folder.
  ///
  /// - Returns: its path.
  @discardableResult
  public func write(_ name: String, _ text: String) throws -> String {
    let file = url.appending(path: name)
    try Data(text.utf8).write(to: file)
    return file.path
  }

  /// Writes a file that only its owner can read, which is required for keys.
  ///
  /// - Returns: its path.
  @discardableResult
  public func writeSecret(_ name: String, _ text: String) throws -> String {
    let path = try write(name, text)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    return path
  }
}

/// Folders that were never released, such as those of shared servers. They are deleted when the process exits.
private enum Leftovers {
  private static let urls: Mutex<Set<URL>> = {
    atexit { Leftovers.deleteAll() }
    return Mutex([])
  }()

  static func add(_ url: URL) { urls.withLock { _ = $0.insert(url) } }

  static func delete(_ url: URL) {
    urls.withLock { _ = $0.remove(url) }
    try? FileManager.default.removeItem(at: url)
  }

  static func deleteAll() {
    for url in urls.withLock({ $0 }) { try? FileManager.default.removeItem(at: url) }
  }
}
