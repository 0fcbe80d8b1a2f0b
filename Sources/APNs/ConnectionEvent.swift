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
  /// What APNs said about the credential.
  case credential(CredentialEvent)
}
