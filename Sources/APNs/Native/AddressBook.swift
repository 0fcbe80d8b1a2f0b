internal import EventLoop
internal import Synchronization

/// Which of APNs' addresses the connections of a pool use, so that they spread over them: Apple's engineers advise not to
/// use one address twice. Safe to use from any thread.
final class AddressBook: Sendable {
  private let uses = Mutex<[String: Int]>([:])

  /// The addresses in the order in which they are to be tried: those that fewer connections use first, else by chance.
  func order(_ addresses: [SocketAddress]) -> [SocketAddress] {
    let uses = uses.withLock { $0 }
    return addresses.shuffled().map { (address: $0, uses: uses[$0.description] ?? 0) }
      .sorted { $0.uses < $1.uses }.map(\.address)
  }

  func opened(_ address: SocketAddress) { uses.withLock { $0[address.description, default: 0] += 1 } }

  func closed(_ address: SocketAddress) {
    uses.withLock { uses in
      let left = (uses[address.description] ?? 1) - 1
      uses[address.description] = left > 0 ? left : nil
    }
  }
}
