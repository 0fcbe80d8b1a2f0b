/// An error that Redis answered a command with: data, like any other answer, until somebody decides to throw it.
public struct RedisServerError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The first word of the answer, which is what Redis promises to keep stable.
  public struct Code: RawRepresentable, Hashable, Sendable {
    /// The word itself, in capitals.
    public var rawValue: String
    /// - Parameter rawValue: the word, in capitals.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Anything without a code of its own.
    public static let generic = Code(rawValue: "ERR")
    /// The server is a replica that takes no writes.
    public static let readOnly = Code(rawValue: "READONLY")
    /// The server is a replica that has lost its primary, and answers nothing.
    public static let primaryDown = Code(rawValue: "MASTERDOWN")
    /// The wait of a blocking command was ended: the server has become a replica.
    public static let unblocked = Code(rawValue: "UNBLOCKED")
    /// The script cache does not know this script.
    public static let noScript = Code(rawValue: "NOSCRIPT")
    /// The server still loads its data.
    public static let loading = Code(rawValue: "LOADING")
    /// Fewer replicas follow than `min-replicas-to-write` asks for.
    public static let noReplicas = Code(rawValue: "NOREPLICAS")
    /// The write would exceed `maxmemory`.
    public static let outOfMemory = Code(rawValue: "OOM")
    /// A script has been running for too long, and everybody waits.
    public static let busy = Code(rawValue: "BUSY")
    /// The server cannot persist and refuses writes.
    public static let misconfigured = Code(rawValue: "MISCONF")
    /// Cluster: the slot lives elsewhere.
    public static let moved = Code(rawValue: "MOVED")
    /// Cluster: the slot is on its way, and the key has arrived already.
    public static let ask = Code(rawValue: "ASK")
    /// Cluster: the slot is on its way, and of the keys of one call some have arrived and some have not.
    public static let tryAgain = Code(rawValue: "TRYAGAIN")
    /// Cluster: the keys of one call are in several slots.
    public static let crossSlot = Code(rawValue: "CROSSSLOT")
    /// Cluster: some slot has no owner.
    public static let clusterDown = Code(rawValue: "CLUSTERDOWN")
    /// The key holds another type.
    public static let wrongType = Code(rawValue: "WRONGTYPE")
    /// A password is needed.
    public static let noAuthentication = Code(rawValue: "NOAUTH")
    /// User or password are wrong.
    public static let wrongPassword = Code(rawValue: "WRONGPASS")
    /// The user may not do this.
    public static let noPermission = Code(rawValue: "NOPERM")
  }

  /// What kind of refusal it is.
  public var code: Code
  /// The rest of the answer, for humans.
  public var message: String

  /// Whether another connection may get another answer: the server is not, or not yet, the one to ask, and behind the same
  /// name may stand another; or it wants to know anew who asks.
  var isOfConnection: Bool { [.readOnly, .primaryDown, .unblocked, .loading, .noAuthentication].contains(code) }

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
    // Up to Redis 7.0 what a user may not do in a script has no code of its own (script.c, scriptVerifyACL).
    if code == .generic, let said = message.firstRange(of: "The user executing the script can't") {
      code = .noPermission
      message = String(message[said.lowerBound...])
    }
  }

  public var description: String { "\(code.rawValue) \(message)" }

  /// What refused a command of a script. Before Redis 7 it stands inside an error of the script, behind the place once or
  /// twice: "ERR Error running script (call to f_…): @user_script:3: WRONGTYPE Operation …", "ERR Error running script
  /// (call to f_…): @user_script:3: @user_script: 3: -OOM command not allowed …" (scripting.c, luaCallFunction).
  ///
  /// - Returns: `nil` where no command was refused: the script itself is wrong.
  private static func refusal(inScript line: String) -> String? {
    guard line.hasPrefix("ERR Error running script"), let head = line.firstRange(of: "): ") else { return nil }
    var rest = line[head.upperBound...]
    while let place = rest.prefixMatch(of: #/@user_script: ?[0-9]+: /#) { rest = rest[place.range.upperBound...] }
    if rest.first == "-" { rest = rest.dropFirst() }
    guard let first = rest.first, first.isUppercase, first.isASCII else { return nil }
    return String(rest)
  }
}
