internal import HTTP2
internal import TLS

/// The port for pushes to APNs.
struct PushPort: ServedPort {
  func greeting(for descriptor: Int32, by state: LoopState) -> Greeting? {
    if state.refusesConnection(from: descriptor) { return nil }
    let knobs = state.knobs
    if knobs.handshakeDelayMilliseconds > 0 { state.count(.handshakeDelayMilliseconds) }
    return Greeting(
      delayMilliseconds: knobs.handshakeDelayMilliseconds,
      offer: TLSOffer(
        isUntrusted: knobs.showsUntrustedCertificate, protocols: knobs.answersALPN ? ["h2"] : []))
  }

  func open(_ id: Int, on stream: TLSStream, by state: LoopState, in loop: SimulatorLoop?) throws -> OpenedConnection {
    try PushRole.open(
      connection: id, certificate: stream.peerCertificate, address: PeerAddress.text(of: stream.descriptor),
      loop: state)
  }
}

/// The port of the control API, which has no injected faults.
struct ControlPort: ServedPort {
  /// Flow-control window of a connection in bytes. It is large because device lists are long.
  private static let window: Int32 = 8 << 20

  let service: ControlService

  func greeting(for descriptor: Int32, by state: LoopState) -> Greeting? { Greeting() }

  func open(_ id: Int, on stream: TLSStream, by state: LoopState, in loop: SimulatorLoop?) throws -> OpenedConnection {
    var settings = HTTP2Settings()
    settings.initialWindowSize = UInt32(Self.window)
    let session = try HTTP2Session(role: .server, settings: settings, connectionWindow: Self.window)
    return (session, ControlRole(connection: id, session: session, service: service, loop: loop))
  }
}
