internal import PushCore

/// What an engine tells of its connection.
enum ConnectionEvent: Sendable, Equatable {
  /// A connection is being opened.
  case opening
  /// The service accepted the first push on the connection.
  case established
  /// Pushes went without an answer, but the connection goes on; the text is for logs.
  case trouble(String)
  /// The connection could not be opened, or broke, after so many accepted pushes; the text is for logs.
  case failed(String, accepted: Int)
  /// The connection was closed in order, or given up on purpose, after so many accepted pushes.
  case closed(accepted: Int)
  /// What the service said about the credential.
  case credential(CredentialEvent)
}
