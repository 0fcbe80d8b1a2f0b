/// Connector that makes connections through libcurl.
struct CurlConnector: PushConnector {
  let configuration: ConnectionPool.Configuration

  var tickInterval: UInt64? { nil }
  var findsDeadConnections: Bool { false }

  func connect(
    _ authorization: PushAuthorization, _ surroundings: ConnectionSurroundings<CurlConnection.Event>, now: UInt64
  ) throws -> CurlConnection {
    try CurlConnection(configuration, authorization, surroundings)
  }
}
