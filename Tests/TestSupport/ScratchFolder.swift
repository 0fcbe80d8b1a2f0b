public import Foundation
import Synchronization

/// A folder of its own for a test, deleted with the last reference, or at the end of the process.
public final class ScratchFolder: Sendable {
  /// Where it is.
  public let url: URL

  /// - Parameter name: makes the folder recognisable while the test runs.
  public init(_ name: String = "carillon") throws {
    url = FileManager.default.temporaryDirectory.appending(path: "\(name)-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    Leftovers.add(url)
  }

  deinit { Leftovers.delete(url) }

  /// The path of something in the folder.
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

  /// Writes a file that only its owner can read, as one with a key must be.
  ///
  /// - Returns: its path.
  @discardableResult
  public func writeSecret(_ name: String, _ text: String) throws -> String {
    let path = try write(name, text)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    return path
  }
}

/// Folders that nobody let go of, such as those of servers that all suites share, go when the process exits.
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
