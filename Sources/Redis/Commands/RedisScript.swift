/// A Lua script that Redis runs as one atomic step.
///
/// Make one instance per script and keep it: connections remember by instance what they have loaded.
public final class RedisScript: Sendable {
  /// For errors and logs.
  public let name: String
  /// The source, with its `#!lua` line if it has one.
  public let source: String

  /// - Parameters:
  ///   - name: for errors and logs.
  ///   - source: the source, with its `#!lua` line if it has one.
  public init(name: String, source: String) {
    self.name = name
    self.source = source
  }

  /// What to load into a server of the given version.
  ///
  /// Redis 7 reads script flags from a `#!lua` line and, for scripts that have one, refuses keys outside the declared
  /// slot; before Redis 7 that line is a syntax error. The line end stays, so that line numbers in errors are right.
  ///
  /// - Parameter version: of the server; `nil` when it would not tell, and is taken for a current one.
  public func source(for version: RedisVersion?) -> String {
    guard let version, version < RedisVersion(major: 7), source.hasPrefix("#!") else { return source }
    return String(source.drop { !$0.isNewline })
  }
}
