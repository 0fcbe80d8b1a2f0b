/// What an engine tells of its connection.
enum ConnectionEvent: Sendable, Equatable {
  /// A connection is being opened.
  case opening
  /// APNs accepted the first push on the connection.
  case established
  /// Pushes went without an answer, but the connection goes on; the text is for logs.
  case trouble(String)
  /// The connection could not be opened, or broke; the text is for logs.
  case failed(String)
  /// The connection was closed in order, or given up on purpose.
  case closed
  /// APNs refused the provider token of this generation as too old.
  case providerTokenExpired(generation: Int)
  /// APNs saw more provider tokens than it likes; this was the last.
  case tooManyProviderTokens(generation: Int)
}
