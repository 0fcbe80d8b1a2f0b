/// Result of a request for an access token.
enum AccessTokenAnswer: Sendable, Equatable {
  /// A token with its lifetime in ms, counted from the request.
  case token(String, lifetime: Int)
  /// No token at the moment, for a reason that may pass. The text describes the problem.
  case later(String)
  /// The endpoint refused the times in the assertion. The clock from which they come is this number of seconds ahead of
  /// the endpoint's clock; the number is negative if it is behind. The text describes the problem with a hint.
  case wrongTime(ahead: Int64, String)
  /// The endpoint refused the key. The text describes the problem with a hint.
  case refused(String)
}

/// Source of access tokens.
protocol AccessTokenMint: Sendable {
  /// Rules for the requests.
  var rules: AccessTokenPolicy.Rules { get }
  /// Requests a token.
  ///
  /// - Parameter time: UNIX seconds for the times of an assertion.
  func token(at time: Int64) async -> AccessTokenAnswer
}
