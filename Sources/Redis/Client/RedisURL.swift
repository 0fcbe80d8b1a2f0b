/// Address of Redis with the login. The forms are:
///
/// - `redis://[[user]:password@]host[:port][/database]`, or `rediss://` over TLS;
/// - with sentinels `sentinel://[[user]:password@]host[:port][,host[:port]…]/name[/database]`;
/// - for a cluster `cluster://[[user]:password@]host[:port][,host[:port]…]`.
///
/// User, password and host may be percent-encoded. Neither the description nor an error ever contains the password.
public struct RedisURL: Hashable, Sendable {
  /// Whether the connection to Redis uses TLS. The scheme `rediss://` sets this property. The URLs of sentinels and
  /// clusters have no such scheme, so the code that uses such a URL sets the property.
  public var isTLS: Bool
  /// Topology of the servers, which determines how the client finds the primary.
  public enum Topology: Hashable, Sendable {
    /// The primary is at the URL's only address.
    case single
    /// The sentinels at the URL's addresses report the primary with this name.
    case sentinel(name: String)
    /// A cluster, of which the URL names some servers.
    case cluster
  }

  /// How the client finds the primary.
  public var topology: Topology
  /// Addresses; at least one. The default port is 6379, and 26379 for sentinels.
  public var addresses: [RedisAddress]
  /// ACL user; `nil` for the default user.
  public var user: String?
  /// Password, if one is needed.
  public var password: String?
  /// Database number, 0 by default. A cluster has only database 0.
  public var database: Int

  /// - Parameters:
  ///   - isTLS: whether the connection uses TLS.
  ///   - host: a name or an address, IPv6 without brackets.
  ///   - port: the port.
  ///   - user: the ACL user; `nil` for the default user.
  ///   - password: the password, if one is needed.
  ///   - database: the database number.
  public init(
    isTLS: Bool = false, host: String, port: UInt16 = 6379, user: String? = nil, password: String? = nil,
    database: Int = 0
  ) {
    self.isTLS = isTLS
    topology = .single
    addresses = [RedisAddress(host: host, port: port)]
    self.user = user
    self.password = password
    self.database = database
  }

  /// Parses a URL.
  ///
  /// - Throws: ``RedisError`` with ``RedisError/Code/invalidURL``.
  public init(_ text: String) throws(RedisError) {
    guard let colon = text.firstRange(of: "://") else {
      throw Self.invalid("it has no scheme")
    }
    let scheme = text[..<colon.lowerBound].lowercased()
    switch scheme {
    case "redis", "sentinel", "cluster": isTLS = false
    case "rediss": isTLS = true
    default: throw Self.invalid("the scheme \"\(scheme)\" is not redis, rediss, sentinel or cluster")
    }
    var authority = text[colon.upperBound...]
    guard !authority.contains(where: { $0 == "?" || $0 == "#" }) else {
      throw Self.invalid("it has a query or a fragment, or a raw \"?\" or \"#\" in the password")
    }

    // The login ends at the last @ before the first slash. A slash in a password must therefore be percent-encoded.
    var path: Substring = ""
    if let slash = authority.firstIndex(of: "/") {
      path = authority[authority.index(after: slash)...]
      authority = authority[..<slash]
      guard !path.contains("@") else {
        throw Self.invalid("a \"/\" in the user or the password is not percent-encoded")
      }
    }
    user = nil
    password = nil
    if let at = authority.lastIndex(of: "@") {
      (user, password) = try Self.credentials(authority[..<at])
      authority = authority[authority.index(after: at)...]
    }
    guard scheme == "sentinel" || scheme == "cluster" else {
      topology = .single
      addresses = [try Self.address(authority, port: 6379)]
      database = try Self.database(path)
      return
    }
    addresses = []
    for part in authority.split(separator: ",", omittingEmptySubsequences: false) {
      addresses.append(try Self.address(part, port: scheme == "cluster" ? 6379 : 26379))
    }
    guard scheme == "sentinel" else {
      topology = .cluster
      database = try Self.database(path)
      guard database == 0 else { throw Self.invalid("a cluster has only the database 0") }
      return
    }
    let parts = path.split(separator: "/", maxSplits: 1)
    let name = try Self.decode(parts.first ?? "", "name of the primary")
    guard !name.isEmpty else {
      throw Self.invalid("the name of the primary is missing after the sentinels")
    }
    topology = .sentinel(name: name)
    database = try Self.database(parts.count > 1 ? parts[1] : "")
  }

  /// Text for logs: `host:port`. For sentinels, the addresses of all sentinels and the name of the primary.
  public var endpoint: String {
    let list = addresses.map(\.description).joined(separator: ",")
    return if case .sentinel(let name) = topology { "\(list)/\(name)" } else { list }
  }

  /// Returns the same login and database at one address.
  func at(_ address: RedisAddress) -> RedisURL {
    var url = self
    url.topology = .single
    url.addresses = [address]
    return url
  }

  private static func credentials(_ text: Substring) throws(RedisError) -> (user: String?, password: String?) {
    let colon = text.firstIndex(of: ":")
    let userText = text[..<(colon ?? text.endIndex)]
    let user = try decode(userText, "user")
    guard let colon else {
      throw invalid(
        "it has a user but no password; for a password without a user, write \"redis://:PASSWORD@host\"; "
          + "if the password is in a file, remove the user from the URL and set it with the file")
    }
    let password = try decode(text[text.index(after: colon)...], "password")
    guard !password.isEmpty else { throw invalid("its password is empty") }
    return (user.isEmpty ? nil : user, password)
  }

  private static func address(_ text: Substring, port: UInt16) throws(RedisError) -> RedisAddress {
    var rest = text
    var host: Substring
    if rest.first == "[" {
      guard let bracket = rest.firstIndex(of: "]") else { throw invalid("the \"[\" of its address has no \"]\"") }
      host = rest[rest.index(after: rest.startIndex)..<bracket]
      rest = rest[rest.index(after: bracket)...]
    } else {
      host = rest.prefix { $0 != ":" }
      rest = rest[host.endIndex...]
      guard rest.dropFirst().firstIndex(of: ":") == nil else {
        throw invalid("it has more than one \":\" after the host; an IPv6 address needs brackets")
      }
    }
    guard !host.isEmpty else { throw invalid("it has no host") }
    let decoded = try decode(host, "host")
    guard !rest.isEmpty else { return RedisAddress(host: decoded, port: port) }
    guard rest.first == ":", let port = UInt16(rest.dropFirst()), port > 0 else {
      throw invalid("its port is not a number from 1 to 65535")
    }
    return RedisAddress(host: decoded, port: port)
  }

  private static func database(_ path: Substring) throws(RedisError) -> Int {
    guard !path.isEmpty else { return 0 }
    guard path.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let number = Int(path) else {
      throw invalid("its database is not a number")
    }
    return number
  }

  private static func decode(_ text: Substring, _ part: String) throws(RedisError) -> String {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      let digits = rest.prefix(2)
      guard digits.count == 2, let value = UInt8(hex: Substring(digits)) else {
        throw invalid("a \"%\" in its \(part) is not followed by two hex digits")
      }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    guard let decoded = String(validating: bytes, as: UTF8.self) else { throw invalid("its \(part) is not UTF-8") }
    return decoded
  }

  private static func invalid(_ why: String) -> RedisError {
    RedisError(
      .invalidURL, "the URL can't be used: \(why)",
      hint: "Write redis://[[user]:password@]host[:port][/database], rediss:// for TLS, sentinel://HOST,HOST/NAME "
        + "or cluster://HOST,HOST.")
  }
}

extension RedisURL: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String {
    let login = password == nil ? "" : "\(user ?? ""):***@"
    return switch topology {
    case .single: "redis\(isTLS ? "s" : "")://\(login)\(endpoint)/\(database)"
    case .sentinel: "sentinel://\(login)\(endpoint)/\(database)"
    case .cluster: "cluster://\(login)\(endpoint)"
    }
  }

  public var debugDescription: String { description }

  /// Hides the password from `dump`.
  public var customMirror: Mirror { Mirror(self, children: ["url": description]) }
}

extension UInt8 {
  fileprivate init?(hex text: Substring) {
    guard text.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return nil }
    self.init(text, radix: 16)
  }
}
