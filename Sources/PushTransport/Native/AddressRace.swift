internal import EventLoop
internal import TLS

/// Attempts to reach an address of the service, as RFC 8305 ("Happy Eyeballs") describes. Confined to the engine's
/// loop.
///
/// If an address has not answered after ``delay``, the next address is tried too, and the first address that answers is
/// used. So a network that silently drops the packets of one address family delays a connection only a little.
final class AddressRace {
  /// Time without an answer after which the next address is tried too, in nanoseconds: the value that RFC 8305
  /// recommends in section 5. The engine checks it at its ticks, so the time may be longer by one tick.
  static let delay: UInt64 = 250_000_000

  private let setup: NativeConnection.Setup
  private let tls: TLSContext
  private let context: ConnectionContext<NativeConnection.Event>
  /// Addresses that were not tried yet.
  private var candidates: ArraySlice<SocketAddress>
  /// Addresses that other connections use. They are tried after an address that no other connection uses.
  private var declined: [SocketAddress] = []
  /// Links to the addresses that have not answered yet, oldest first.
  private var attempts: [NativeLink] = []
  private var nextNumber = 0
  private var nextAttempt: UInt64 = 0
  /// Reason why the last attempt failed.
  private var failure: NativeFailure

  /// - Parameter addresses: result of the lookup, in the order in which they are tried within an address family.
  init(
    _ addresses: [SocketAddress], _ setup: NativeConnection.Setup, tls: TLSContext,
    _ context: ConnectionContext<NativeConnection.Event>
  ) {
    self.setup = setup
    self.tls = tls
    self.context = context
    candidates = Self.alternating(addresses)[...]
    failure = NativeFailure("other connections already use every address of \(setup.target.withPort)")
  }

  /// Returns the addresses with alternating families, beginning with the family of the first one (RFC 8305 section 4).
  static func alternating(_ addresses: [SocketAddress]) -> [SocketAddress] {
    guard let first = addresses.first else { return [] }
    var same = addresses.filter { $0.isIPv6 == first.isIPv6 }[...]
    var other = addresses.filter { $0.isIPv6 != first.isIPv6 }[...]
    var result: [SocketAddress] = []
    while !same.isEmpty || !other.isEmpty {
      if let next = same.popFirst() { result.append(next) }
      if let next = other.popFirst() { result.append(next) }
    }
    return result
  }

  /// Number of addresses that were not tried yet.
  var untried: Int { candidates.count }

  /// Records that the socket of a link is ready. Does nothing if the link was closed.
  func ready(_ link: Int) {
    for attempt in attempts where attempt.number == link { attempt.isReady = true }
  }

  /// Ends the attempts that failed, and begins the attempts that are due.
  ///
  /// - Returns: the link to the first address that has answered; `nil` if none has answered yet.
  /// - Throws: the reason why the last address could not be reached, if no address is left.
  func advance(now: UInt64) throws(NativeFailure) -> NativeLink? {
    for attempt in attempts where attempt.isReady {
      guard let error = attempt.connectionError() else { return win(attempt) }
      failure = NativeFailure(error)
      attempt.close()
      attempts.removeAll { $0 === attempt }
      nextAttempt = now
    }
    while now >= nextAttempt, let address = nextCandidate() { begin(address, now) }
    if attempts.isEmpty { throw failure }
    return nil
  }

  private func begin(_ address: SocketAddress, _ now: UInt64) {
    candidates += declined
    declined = []
    nextNumber += 1
    let (number, onEvent) = (nextNumber, context.onEvent)
    do {
      attempts.append(
        try NativeLink(number, to: address, setup, tls: tls, loop: context.loop) { onEvent(.ready(link: number)) })
      nextAttempt = now + Self.delay
    } catch { failure = NativeFailure(error) }
  }

  private func nextCandidate() -> SocketAddress? {
    while let next = candidates.popFirst() {
      // All connections use the same proxy, so its addresses are not spread.
      if setup.proxy != nil || context.mayConnect(next.host) { return next }
      declined.append(next)
    }
    return nil
  }

  /// Ends the other attempts. If TLS with the winner is not completed in time, their addresses are tried again.
  private func win(_ winner: NativeLink) -> NativeLink {
    attempts.removeAll { $0 === winner }
    candidates = (attempts.map(\.address) + candidates)[...]
    close()
    // Records the address of the connection, because the last recorded one is that of the last attempt.
    if setup.proxy == nil { _ = context.mayConnect(winner.address.host) }
    nextAttempt = 0
    return winner
  }

  /// Closes the winner, because it has not completed TLS or HTTP/2 in time.
  func leave(_ winner: NativeLink) {
    winner.close()
    failure = NativeFailure("could not connect to \(winner.address) in time")
  }

  /// Ends all attempts.
  func close() {
    for attempt in attempts { attempt.close() }
    attempts = []
  }
}
