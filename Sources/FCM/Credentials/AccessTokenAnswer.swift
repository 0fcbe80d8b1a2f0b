/// Result of a request for an access token.
enum AccessTokenAnswer: Sendable, Equatable {
  /// A token with its lifetime in ms, counted from the request.
  case token(String, lifetime: Int)
  /// No token because of a temporary problem, which the text describes.
  case later(String)
  /// The endpoint refused the times in the assertion, the signed request for a token. The clock that gave these times
  /// is this number of seconds ahead of the endpoint's clock. A negative number means that it is behind. The text
  /// describes the problem with a hint.
  case wrongTime(ahead: Int64, String)
  /// The endpoint refused the key. The text describes the problem with a hint.
  case refused(String)
}

/// Client that requests access tokens: ``ServiceAccountMint`` or ``MetadataServer``.
protocol AccessTokenMint: Sendable {
  /// Rules for the requests.
  var rules: AccessTokenPolicy.Rules { get }
  /// Requests a token.
  ///
  /// - Parameter time: UNIX seconds for the times of an assertion.
  func token(at time: Int64) async -> AccessTokenAnswer
}
