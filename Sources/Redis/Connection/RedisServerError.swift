/// Error with which Redis answered a command. It is data like any other answer, until a caller throws it.
public struct RedisServerError: Error, Hashable, Sendable, CustomStringConvertible {
  /// First word of the answer. Redis keeps these words stable.
  public struct Code: RawRepresentable, Hashable, Sendable {
    /// The word in capitals.
    public var rawValue: String
    /// - Parameter rawValue: the word in capitals.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Any error without a specific code.
    public static let generic = Code(rawValue: "ERR")
    /// The server is a replica that takes no writes.
    public static let readOnly = Code(rawValue: "READONLY")
    /// The server is a replica that has lost its primary, and refuses all commands.
    public static let primaryDown = Code(rawValue: "MASTERDOWN")
    /// The wait of a blocking command was ended, because the server has become a replica.
    public static let unblocked = Code(rawValue: "UNBLOCKED")
    /// The server is still loading its data.
    public static let loading = Code(rawValue: "LOADING")
    /// The server has fewer replicas than `min-replicas-to-write` requires.
    public static let noReplicas = Code(rawValue: "NOREPLICAS")
    /// The write would exceed `maxmemory`.
    public static let outOfMemory = Code(rawValue: "OOM")
    /// A script has been running for too long, and all other commands wait.
    public static let busy = Code(rawValue: "BUSY")
    /// The server can't persist and refuses writes.
    public static let misconfigured = Code(rawValue: "MISCONF")
    /// Cluster: the slot has another owner.
    public static let moved = Code(rawValue: "MOVED")
    /// Cluster: the slot is moving, and the key has arrived at the new owner already.
    public static let ask = Code(rawValue: "ASK")
    /// Cluster: the slot is moving. Some keys of one call have arrived at the new owner, and others have not.
    public static let tryAgain = Code(rawValue: "TRYAGAIN")
    /// Cluster: the keys of one call are in several slots.
    public static let crossSlot = Code(rawValue: "CROSSSLOT")
    /// Cluster: a slot has no owner.
    public static let clusterDown = Code(rawValue: "CLUSTERDOWN")
    /// The key contains another type.
    public static let wrongType = Code(rawValue: "WRONGTYPE")
    /// A password is required.
    public static let noAuthentication = Code(rawValue: "NOAUTH")
    /// User or password is wrong.
    public static let wrongPassword = Code(rawValue: "WRONGPASS")
    /// The user has no permission.
    public static let noPermission = Code(rawValue: "NOPERM")
  }

  /// Kind of refusal.
  public var code: Code
  /// Rest of the answer, for people.
  public var message: String

  /// Whether the command may succeed on a new connection. Either this server can't serve now, and the same name may
  /// lead to another server, or the server requires a new login.
  var isOfConnection: Bool { [.readOnly, .primaryDown, .unblocked, .loading, .noAuthentication].contains(code) }

  /// Parses an error answer.
  ///
  /// - Parameter line: the answer without its leading `-`.
  public init(line: String) {
    let line = Self.refusal(inScript: line) ?? line
    let word = line.prefix { $0 != " " }
    if !word.isEmpty, word.utf8.allSatisfy({ (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }) {
      code = Code(rawValue: String(word))
      message = String(line.dropFirst(word.count + 1))
    } else {
      code = .generic
      message = line
    }
    // Up to Redis 7.0, a permission error within a script has no code of its own (script.c, scriptVerifyACL).
    if code == .generic, let place = message.firstRange(of: "The user executing the script can't") {
      code = .noPermission
      message = String(message[place.lowerBound...])
    }
  }

  public var description: String { "\(code.rawValue) \(message)" }

  /// Returns the refusal of a command within a script. Before Redis 7, the refusal is inside an error of the script,
  /// after one or two positions in the script (scripting.c, luaCallFunction). Examples: "ERR Error running script (call
  /// to f_…): @user_script:3: WRONGTYPE Operation …", "ERR Error running script (call to f_…): @user_script:3:
  /// @user_script: 3: -OOM command not allowed …".
  ///
  /// - Returns: `nil` if Redis refused no command of the script, so that the error is in the script itself.
  private static func refusal(inScript line: String) -> String? {
    guard line.hasPrefix("ERR Error running script"), let head = line.firstRange(of: "): ") else { return nil }
    var rest = line[head.upperBound...]
    while let place = rest.prefixMatch(of: #/@user_script: ?[0-9]+: /#) { rest = rest[place.range.upperBound...] }
    if rest.first == "-" { rest = rest.dropFirst() }
    guard let first = rest.first, first.isUppercase, first.isASCII else { return nil }
    return String(rest)
  }
}
