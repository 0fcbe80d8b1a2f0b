import Glibc
import Synchronization

/// The open connections of the server. For each connection, this type knows the phase and its start.
///
/// It ends connections whose request takes too long. If there are too many connections, it ends the connection that was
/// quiet for longest. It also cancels the work for clients that have disconnected.
final class OpenConnections: Sendable {
  private enum Phase {
    /// No complete request has arrived since this time.
    case waiting(UInt64)
    /// The server has worked on the answer, or on the next part of it, since this time.
    case working(ServerExchange, UInt64)
    /// The answer is being sent. The time is when the client last took a part of it.
    case sending(UInt64)
    /// The server has shut down the socket. libmicrohttpd will close it soon.
    case ended
  }

  private struct Connection {
    /// The client's network (``network(of:)``).
    var network: UInt64
    var phase: Phase

    /// Time since which the connection waits for the client; `nil` if it does not wait for the client.
    var quietSince: UInt64? {
      switch phase {
      case .waiting(let since), .sending(let since): since
      case .working, .ended: nil
      }
    }

    var isEnded: Bool { if case .ended = phase { true } else { false } }
  }

  /// Time in ns after which the server checks whether the client of a request in progress is still connected. A client
  /// may close its sending side after its request, which looks like a disconnect. Answers to short requests are ready
  /// before this check, so such a client still gets its answer.
  private static let attention: UInt64 = 500_000_000

  /// POLLRDHUP of Linux (poll(2)), which Glibc's module lacks: the client has closed its sending side, or both sides.
  private static let hungUp: Int16 = 0x2000

  /// Number of connections above which a new connection replaces a quiet one.
  private let most: Int
  private let state = Mutex<[Int32: Connection]>([:])

  init(most: Int) { self.most = most }

  /// Number of open connections.
  var open: Int { state.withLock { $0.count } }

  /// Number of connections with an answer in progress.
  var working: Int {
    state.withLock { connections in
      connections.values.count { if case .working = $0.phase { true } else { false } }
    }
  }

  /// Records a new connection. If there are too many, the function ends a connection: in the network with the most
  /// connections, the one that was quiet for longest. A client that opens connections without end therefore ends only
  /// connections of its own network.
  func opened(_ descriptor: Int32, now: UInt64) {
    let network = Self.network(of: descriptor)
    state.withLock { connections in
      defer { connections[descriptor] = Connection(network: network, phase: .waiting(now)) }
      let open = connections.values.filter { !$0.isEnded }
      guard open.count >= most else { return }
      var counts: [UInt64: Int] = [:]
      for connection in open { counts[connection.network, default: 0] += 1 }
      let quiet = connections.compactMap { descriptor, connection in
        connection.quietSince.map {
          (descriptor: descriptor, crowd: counts[connection.network, default: 0], since: $0)
        }
      }
      let victim = quiet.max { ($0.crowd, $1.since) < ($1.crowd, $0.since) }
      if let victim { Self.end(victim.descriptor, in: &connections) }
    }
  }

  /// Records that a request has arrived completely, or that the next part of its answer is in progress.
  func recordProgress(_ descriptor: Int32, on exchange: ServerExchange, now: UInt64) {
    change(descriptor, to: .working(exchange, now))
  }

  /// Records that a part of an answer is being sent.
  func recordSending(_ descriptor: Int32, now: UInt64) { change(descriptor, to: .sending(now)) }

  /// Records that a request was answered, so that the next request may arrive.
  func answered(_ descriptor: Int32, now: UInt64) { change(descriptor, to: .waiting(now)) }

  /// Removes a connection that is about to be closed.
  func closed(_ descriptor: Int32) { _ = state.withLock { $0.removeValue(forKey: descriptor) } }

  /// Ends connections that have had no complete request since before `limit`.
  func endWaiting(before limit: UInt64) {
    state.withLock { connections in
      for (descriptor, connection) in connections {
        if case .waiting(let since) = connection.phase, since < limit { Self.end(descriptor, in: &connections) }
      }
    }
  }

  /// Cancels the work for clients that have disconnected.
  func endAbandoned(now: UInt64) {
    let abandoned = state.withLock { connections in
      connections.compactMap { descriptor, connection -> ServerExchange? in
        guard case .working(let exchange, let since) = connection.phase, now > since + Self.attention,
          Self.isHungUp(descriptor)
        else { return nil }
        return exchange
      }
    }
    for exchange in abandoned { exchange.abandon() }
  }

  /// Ends all connections.
  func endAll() {
    state.withLock { connections in
      for descriptor in connections.keys { Self.end(descriptor, in: &connections) }
    }
  }

  private func change(_ descriptor: Int32, to phase: Phase) {
    state.withLock { connections in
      guard connections[descriptor]?.isEnded == false else { return }
      connections[descriptor]?.phase = phase
    }
  }

  /// Shuts down the socket of a connection. The caller holds the lock. libmicrohttpd's thread notices shutdown(2) and
  /// closes the descriptor. Before that, it reports the end of the connection, so the descriptor belongs to this
  /// connection until ``closed(_:)``.
  private static func end(_ descriptor: Int32, in connections: inout [Int32: Connection]) {
    shutdown(descriptor, Int32(SHUT_RDWR))
    connections[descriptor]?.phase = .ended
  }

  /// Returns whether the client has closed its sending side (poll(2)). The caller holds the lock, as for
  /// ``end(_:in:)``.
  private static func isHungUp(_ descriptor: Int32) -> Bool {
    var socket = pollfd(fd: descriptor, events: hungUp, revents: 0)
    return poll(&socket, 1, 0) > 0 && socket.revents != 0
  }

  /// Returns an IPv4 address, or the first 64 bits of an IPv6 address, because one host may use all addresses with
  /// these bits.
  private static func network(of descriptor: Int32) -> UInt64 {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutableBytes(of: &storage) { bytes in
      guard let base = bytes.baseAddress,
        getpeername(descriptor, base.assumingMemoryBound(to: sockaddr.self), &length) == 0
      else { return 0 }
      // Both structures begin with the family; sockaddr_in has the address at byte 4, sockaddr_in6 at byte 8
      // (netinet/in.h).
      func word<Word: FixedWidthInteger>(_ offset: Int, _: Word.Type) -> Word {
        Word(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Word.self))
      }
      guard bytes.loadUnaligned(as: sa_family_t.self) == sa_family_t(AF_INET6) else {
        return UInt64(word(4, UInt32.self))
      }
      // RFC 4291 section 2.5.5.2: ::ffff:a.b.c.d is an IPv4 address.
      let (high, middle) = (word(8, UInt64.self), word(16, UInt32.self))
      return high == 0 && middle == 0xffff ? UInt64(word(20, UInt32.self)) : high
    }
  }
}
