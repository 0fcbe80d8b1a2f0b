internal import TLS

/// A port of the simulator for FCM or for Google's token endpoint. Clients may use HTTP/2 or HTTP/1.1.
struct GooglePort: ServedPort {
  /// The service behind the port.
  enum Service {
    case messages
    case tokens
  }

  let service: Service
  let state: FCMState

  func greeting(for descriptor: Int32, by state: LoopState) -> Greeting? {
    let knobs = state.knobs.fcm
    switch service {
    case .messages: if knobs.isDown { return nil }
    case .tokens: if knobs.tokenEndpointIsDown { return nil }
    }
    return Greeting(offer: TLSOffer(protocols: ["h2", "http/1.1"], asksForCertificate: false))
  }

  func open(_ id: Int, on stream: TLSStream, by state: LoopState, in loop: SimulatorLoop?) throws -> OpenedConnection {
    let endpoint: any GoogleEndpoint =
      switch service {
      case .messages: SendEndpoint(state: self.state)
      case .tokens: TokenEndpoint(state: self.state)
      }
    return try GoogleRole.open(id, protocol: stream.negotiatedProtocol, endpoint: endpoint, loop: state)
  }
}
