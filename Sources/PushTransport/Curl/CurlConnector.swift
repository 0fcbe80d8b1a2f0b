internal import PushCore

/// Connector that makes connections through libcurl.
struct CurlConnector: PushConnector {
  let configuration: ConnectionPool.Configuration

  /// libcurl handles its own timeouts. Only the service's limits for age and idle time need checks.
  var tickInterval: UInt64? { configuration.policy.shortestLimit.map(TickInterval.nanoseconds) }
  var findsDeadConnections: Bool { false }

  func connect(
    _ authorization: PushAuthorization, _ context: ConnectionContext<CurlConnection.Event>, now: UInt64
  ) throws -> CurlConnection {
    try CurlConnection(configuration, authorization, context)
  }
}
