/// The first commands of a connection: login, name, database and `INFO`. Checks their answers. Pure.
struct Handshake {
  private enum Step: String {
    case login = "logging in"
    case database = "selecting the database"
    case name = "naming the connection"
    case info = "reading INFO"
  }

  let pipeline: RedisPipeline
  private let steps: [Step]
  private let endpoint: String

  /// Makes the first commands of a connection.
  ///
  /// - Parameter password: the password for the login; `nil` for no login.
  init(url: RedisURL, password: String?, clientName: String) {
    var pipeline = RedisPipeline()
    var steps: [Step] = []
    if let password {
      steps.append(.login)
      pipeline.command("AUTH") {
        if let user = url.user { $0.append(user) }
        $0.append(password)
      }
    }
    if url.database != 0 {
      steps.append(.database)
      pipeline.append("SELECT", url.database)
    }
    steps.append(.name)
    pipeline.append("CLIENT", "SETNAME", Self.allowed(clientName))
    steps.append(.info)
    pipeline.append("INFO")
    self.pipeline = pipeline
    self.steps = steps
    endpoint = url.endpoint
  }

  /// Checks the answers to the first commands.
  ///
  /// - Returns: the result of `INFO`; empty if this user has no permission for it.
  func check(_ replies: [RedisReply]) throws(RedisError) -> RedisServerInfo {
    var info = RedisServerInfo(parsing: "")
    for (step, reply) in zip(steps, replies) {
      guard let error = reply.error else {
        if step == .info { info = RedisServerInfo(parsing: reply.string ?? "") }
        continue
      }
      // A connection also works without a name, and if the server does not report its information.
      let isOptional = (step == .name || step == .info) && [.noPermission, .generic].contains(error.code)
      if isOptional { continue }
      if step == .login, error.code == .generic { throw Self.wrongLogin(error, endpoint: endpoint) }
      throw Self.refusal(error, step: step.rawValue, endpoint: endpoint)
    }
    if info.isLoading {
      throw Self.refusal(RedisServerError(line: "LOADING its data"), step: "the first command", endpoint: endpoint)
    }
    return info
  }

  /// Returns the error for a refusal of a required step.
  static func refusal(_ error: RedisServerError, step: String, endpoint: String) -> RedisError {
    switch error.code {
    case .noAuthentication, .wrongPassword: wrongLogin(error, endpoint: endpoint)
    case .noPermission:
      RedisError(
        .noPermission, "\(step) was refused: \(error)", endpoint: endpoint,
        hint: "Grant this Redis user the permission that the message names (ACL SETUSER).")
    case .generic, .crossSlot:
      RedisError(
        .refused, "\(step) was refused: \(error)", endpoint: endpoint,
        hint: "Check the database number of the URL and the version of the server.")
    default:
      RedisError(
        .notReady, "\(step) is not possible now: \(error)", endpoint: endpoint,
        hint: "Wait until the server is ready. Its log shows its progress.")
    }
  }

  private static func wrongLogin(_ error: RedisServerError, endpoint: String) -> RedisError {
    RedisError(
      .authentication, "logging in was refused: \(error)", endpoint: endpoint,
      hint: "Check the user and the password. ACL LIST on the server shows its users.")
  }

  /// Returns the name with the characters that `CLIENT SETNAME` allows: printable ASCII without blanks.
  private static func allowed(_ name: String) -> String {
    String(decoding: name.utf8.map { (33...126).contains($0) ? $0 : UInt8(ascii: "-") }, as: UTF8.self)
  }
}

/// Hints that several errors share.
enum Hint {
  static let address = "Check host and port of the URL, and that Redis is running and reachable."
  static let speaksTLS = "Check that this port uses TLS. If not, write redis://, or use the TLS port (tls-port)."
  static let none = "Nothing needs to be done."

  /// Returns a hint of another module as a sentence with a capital letter and a full stop.
  static func sentence(_ hint: String) -> String {
    hint.prefix(1).uppercased() + hint.dropFirst() + "."
  }
}
