/// Lua script that Redis runs as one atomic step.
///
/// Create one instance per script and keep it, because a connection recognises a loaded script by its instance.
public final class RedisScript: Sendable {
  /// Name for errors and logs.
  public let name: String
  /// Source text, with its `#!lua` line if it has one.
  public let source: String

  /// - Parameters:
  ///   - name: the name for errors and logs.
  ///   - source: the source text, with its `#!lua` line if it has one.
  public init(name: String, source: String) {
    self.name = name
    self.source = source
  }

  /// Returns the text to load into a server of the given version.
  ///
  /// Redis 7 reads script flags from a `#!lua` line. For scripts with that line, Redis 7 also refuses keys outside the
  /// slot of the declared keys. Before Redis 7, that line is a syntax error, so the function removes its text. The line
  /// end stays, so that line numbers in errors are right.
  ///
  /// - Parameter version: the version of the server; `nil` if it does not report one, which counts as a current
  ///   version.
  public func source(for version: RedisVersion?) -> String {
    guard let version, version < RedisVersion(major: 7), source.hasPrefix("#!") else { return source }
    return String(source.drop { !$0.isNewline })
  }
}
