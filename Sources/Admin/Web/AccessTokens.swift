import PushCore
import TLS

/// The access tokens of the API, from the token file. The file has a line for each token with its name, its scopes and
/// the SHA-256 of its text.
public struct AccessTokens: Sendable {
  /// The owner of a valid token.
  public struct Holder: Sendable, Equatable {
    /// The token's name, for the audit log.
    public var name: String
    public var scopes: Set<Scope>

    /// Creates a holder from its values.
    public init(name: String, scopes: Set<Scope>) {
      self.name = name
      self.scopes = scopes
    }

    /// Returns whether the token has the scope.
    public func may(_ scope: Scope) -> Bool { scopes.contains(scope) || scopes.contains(.admin) }
  }

  /// The reason why a token file is invalid.
  public struct FileError: Error, Sendable, Equatable, CustomStringConvertible {
    public var line: Int
    public var message: String

    public var description: String { "line \(line): \(message)" }
  }

  private var entries: [(holder: Holder, hash: [UInt8])] = []

  /// Maximum number of tokens in a file. The server compares the token of every request with all of them.
  public static let limit = 256

  /// Creates an empty set of tokens.
  public init() {}

  /// Parses a token file.
  ///
  /// - Parameter text: contents of the file. Empty lines and lines that begin with `#` are ignored.
  public init(parsing text: String) throws(FileError) {
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let words = line.split { $0 == " " || $0 == "\t" || $0 == "\r" }.map(String.init)
      guard let first = words.first, !first.hasPrefix("#") else { continue }
      func fail(_ message: String) -> FileError { FileError(line: index + 1, message: message) }
      guard words.count == 3 else { throw fail("does not have the form: name scope[,scope] sha256-hex") }
      guard PlainName.isValid(words[0]) else { throw fail("the name must be \(PlainName.form)") }
      guard !entries.contains(where: { $0.holder.name == words[0] }) else {
        throw fail("two tokens have the name \(words[0])")
      }
      let scopes = try Self.scopes(words[1]) { fail($0) }
      guard let hash = Self.bytes(ofHex: words[2]), hash.count == 32 else {
        throw fail("the third word is not a SHA-256 digest in hex")
      }
      guard entries.count < Self.limit else { throw fail("the file has more than \(Self.limit) tokens") }
      entries.append((Holder(name: words[0], scopes: scopes), hash))
    }
  }

  public var isEmpty: Bool { entries.isEmpty }

  /// Returns whether a token of this name exists.
  public func has(_ name: String) -> Bool { entries.contains { $0.holder.name == name } }

  /// Returns the holder of a token; `nil` for an unknown token. The function compares the token with every entry in
  /// constant time, so the response time reveals nothing about the tokens.
  public func holder(of token: String) -> Holder? {
    let hash = Self.hash(token)
    var found: Holder?
    for (holder, known) in entries {
      var difference: UInt8 = 0
      for (one, other) in zip(hash, known) { difference |= one ^ other }
      if difference == 0 { found = holder }
    }
    return found
  }

  /// Creates a token: 256 random bits, with a prefix that scanners for leaked secrets recognise.
  public static func make() -> String {
    var chance = SystemRandomNumberGenerator()
    return "carillon_" + hex((0..<32).map { _ in UInt8.random(in: 0...255, using: &chance) })
  }

  /// Returns the line of a token for its file.
  public static func line(name: String, scopes: Set<Scope>, token: String) -> String {
    let words = Scope.allCases.filter(scopes.contains).map(\.rawValue).joined(separator: ",")
    return "\(name) \(words) \(hex(hash(token)))\n"
  }

  /// Parses scopes that are separated by commas.
  public static func scopes<Failure: Error>(
    _ text: String, _ fail: (String) -> Failure
  ) throws(Failure) -> Set<Scope> {
    var scopes: Set<Scope> = []
    for word in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let scope = Scope(rawValue: String(word)) else {
        let known = Scope.allCases.map(\.rawValue)
        throw fail(
          "unknown scope \(Excerpt.quoted(String(word))); \(Nearest.hint(String(word), among: known))")
      }
      scopes.insert(scope)
    }
    return scopes
  }

  private static func hex(_ bytes: [UInt8]) -> String { String(decoding: Hex.encode(bytes), as: UTF8.self) }

  private static func bytes(ofHex text: String) -> [UInt8]? {
    let digits = text.utf8.compactMap(Hex.value)
    guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }

  private static func hash(_ token: String) -> [UInt8] { Digest(.sha256).hash(Array(token.utf8)) }
}
