internal import PushCore
internal import PushTransport

/// Reader of a token endpoint's answers (RFC 6749 section 5). Pure.
struct TokenEndpointReply {
  /// Maximum length of a token in bytes. Google documents at most 2,048 bytes; the limit is twice as large.
  private static let longestToken = 4096
  /// Maximum lifetime of a token in seconds; longer lifetimes are shortened to it. Google issues tokens of at most
  /// twelve hours.
  private static let longestLife = 43_200.0
  /// Difference of the clocks in seconds above which an error message names the clock as the cause. Google tolerates
  /// some minutes; an exchange takes less than 30 s.
  private static let clockTolerance: Int64 = 60
  /// Maximum length of a description in error messages, in characters.
  private static let longestDescription = 200
  /// Maximum nesting of an answer. Real answers have one level.
  private static let maximumDepth = 8
  /// Temporary errors (google-auth, `google/oauth2/_client.py`).
  private static let passing: Set = ["internal_failure", "server_error", "temporarily_unavailable"]

  /// Name of the endpoint in error messages.
  let endpoint: String
  /// Name of the account in error messages.
  let account: String

  /// Returns the meaning of the endpoint's answer.
  ///
  /// - Parameter time: time of the assertion in UNIX seconds.
  func read(_ response: HTTPExchange.Response, time: Int64) -> AccessTokenAnswer {
    let fields = Self.fields(of: response.body)
    if response.status / 100 == 2 { return token(in: fields) }
    let error = fields.text("error")
    let description = fields.text("error_description")
    let words = Self.words(status: response.status, error, description)
    guard response.status / 100 == 4, ![408, 429].contains(response.status), let error,
      Self.passing.isDisjoint(with: [error, description ?? ""])
    else {
      // An answer without an OAuth error may come from a proxy or a firewall, so it does not mean that the key is
      // wrong.
      return .later("\(endpoint) answered with \(words); check token_uri, the proxy and the network if it continues")
    }
    let problem = "\(endpoint) refuses the key of \(account): \(words)"
    if error == "invalid_grant", let ahead = Self.ahead(response, time), abs(ahead) > Self.clockTolerance {
      return .wrongTime(ahead: ahead, "\(problem); \(Self.clock(ahead)); set it by NTP, then resume the campaign")
    }
    return .refused("\(problem); \(Self.hint(error, description))")
  }

  private func token(in fields: [JSONValue.Member]) -> AccessTokenAnswer {
    guard let text = fields.text("access_token"), (1...Self.longestToken).contains(text.utf8.count),
      text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), let life = Self.seconds(fields.value("expires_in")),
      fields.text("token_type").map({ $0.lowercased() == "bearer" }) ?? true
    else {
      return .later(
        "\(endpoint) answered without a usable access_token and expires_in; check token_uri and the proxy")
    }
    return .token(text, lifetime: Int(min(life, Self.longestLife) * 1000))
  }

  /// Returns the seconds of `expires_in`, which may be a number or a string.
  private static func seconds(_ value: JSONValue?) -> Double? {
    let text: String
    switch value?.kind {
    case .number(let number): text = number
    case .string(let string): text = string
    default: return nil
    }
    guard let seconds = Double(text), seconds > 0, seconds.isFinite else { return nil }
    return seconds
  }

  /// Returns a text that says how far this machine's clock is ahead or behind.
  static func clock(_ ahead: Int64) -> String {
    "this machine's clock is \(abs(ahead)) s \(ahead > 0 ? "ahead" : "behind")"
  }

  /// Returns the number of seconds by which a time is ahead of the endpoint's clock; `nil` if the answer has no date.
  private static func ahead(_ response: HTTPExchange.Response, _ time: Int64) -> Int64? {
    response.date.map { time - $0 }
  }

  private static func words(status: UInt16, _ error: String?, _ description: String?) -> String {
    guard let error else { return "status \(status)" }
    guard let description else { return "status \(status), \(Excerpt.bare(error))" }
    // Google's descriptions never contain the assertion. But a proxy could repeat the assertion in its answer. To keep
    // the assertion out of logs, the text is cut off at `eyJ`, the beginning of every assertion.
    let shown = description.prefix(longestDescription).split(separator: "eyJ", omittingEmptySubsequences: false)[0]
    return "status \(status), \(Excerpt.bare(error)): \(Excerpt.harmless(String(shown)))"
  }

  private static func hint(_ error: String, _ description: String?) -> String {
    let newKey = "make a new key (Firebase console, Project settings, Service accounts) and replace the file"
    switch (error, description?.lowercased() ?? "") {
    case ("invalid_grant", let text) where text.contains("signature"): return "the key was deleted; \(newKey)"
    case ("invalid_grant", let text) where text.contains("account"):
      return "the service account was deleted or disabled; enable it, or \(newKey)"
    case ("invalid_grant", let text) where text.contains("iat"):
      return "check this machine's clock (NTP), then resume the campaign"
    case ("invalid_scope", _): return "check that token_uri is Google's; the scope is \(Assertion.scope)"
    case ("unsupported_grant_type", _), ("invalid_request", _):
      return "check token_uri in the file: it is not a token endpoint of Google"
    default: return "check that the service account is enabled, or \(newKey)"
    }
  }

  private static func fields(of body: [UInt8]) -> [JSONValue.Member] {
    guard let value = try? JSONValue(parsing: body, maximumDepth: maximumDepth), case .object(let members) = value.kind
    else { return [] }
    return members
  }
}

extension [JSONValue.Member] {
  /// Returns the text of a string; `nil` if the member is missing or not a string.
  fileprivate func text(_ name: String) -> String? {
    guard case .string(let text)? = value(name)?.kind else { return nil }
    return text
  }
}
