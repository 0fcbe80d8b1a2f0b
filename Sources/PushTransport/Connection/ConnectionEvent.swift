internal import PushCore

/// Event that an engine reports about its connection.
enum ConnectionEvent: Sendable, Equatable {
  /// The engine is opening a connection.
  case opening
  /// The service accepted the first push on the connection.
  case established
  /// Pushes got no answer, but the connection continues. The text describes the error for logs.
  case pushesLost(String)
  /// The connection could not be opened or broke, after this number of accepted pushes; the text is for logs.
  case failed(String, accepted: Int)
  /// The connection was closed without an error or replaced on purpose, after this number of accepted pushes.
  case closed(accepted: Int)
  /// Whether the connection is saturated: all its streams are busy, and latency is flat. The engine reports this only
  /// if ``ConnectionPolicy/growth`` depends on it.
  case saturated(Bool)
  /// The service accepted or refused the credential.
  case credential(CredentialEvent)
}
