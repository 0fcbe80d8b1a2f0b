/// Result of a request for an access token.
enum AccessTokenAnswer: Sendable, Equatable {
  /// A token with its lifetime in ms, counted from the request.
  case token(String, lifetime: Int)
  /// No token at the moment, for a reason that may pass; the problem for people.
  case later(String)
  /// The times of the assertion were refused, and the clock behind them is this number of seconds ahead of the
  /// endpoint's clock; the problem with its remedy for people.
  case wrongTime(ahead: Int64, String)
  /// The key was refused; the problem with its remedy for people.
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
