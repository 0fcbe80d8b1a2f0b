/// Version of the Redis server, such as 7.0.15.
public struct RedisVersion: Comparable, Hashable, Sendable, CustomStringConvertible {
  /// Major version.
  public var major: Int
  /// Minor version.
  public var minor: Int
  /// Patch version.
  public var patch: Int

  /// - Parameters:
  ///   - major: the major version.
  ///   - minor: the minor version.
  ///   - patch: the patch version.
  public init(major: Int, minor: Int = 0, patch: Int = 0) {
    self.major = major
    self.minor = minor
    self.patch = patch
  }

  /// Parses a text such as `7.0.15`. Missing or unreadable minor and patch versions count as 0.
  public init?(_ text: some StringProtocol) {
    let parts = text.split(separator: ".").map { Int($0) }
    guard let first = parts.first, let major = first else { return nil }
    self.init(major: major, minor: (parts.dropFirst().first ?? nil) ?? 0, patch: (parts.dropFirst(2).first ?? nil) ?? 0)
  }

  public static func < (left: RedisVersion, right: RedisVersion) -> Bool {
    (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
  }

  public var description: String { "\(major).\(minor).\(patch)" }
}
