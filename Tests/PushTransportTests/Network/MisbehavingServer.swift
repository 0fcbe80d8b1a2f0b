import Glibc
import PushCore
import Synchronization
import TLS
import TestSupport

@testable import APNs
@testable import PushTransport

/// A server that misbehaves, and a pool that sends to it.
final class MisbehavingServer: Sendable {
  let pool: ConnectionPool
  let completions = Completions()
  private let server: RawServer
  private let isOver: Flag
  private let folder: ScratchFolder

  /// Whether the test has ended. A thread that waits for the client checks it.
  final class Flag: Sendable {
    private let value = Mutex(false)
    var isSet: Bool { value.withLock { $0 } }
    func set() { value.withLock { $0 = true } }
  }

  /// - Parameters:
  ///   - serve: gets each connection before its handshake.
  init(
    _ identity: SelfSignedIdentity, engine: PushEngineKind, requestTimeout: UInt64, connectTimeout: UInt64,
    serve: @escaping @Sendable (Int32, Flag) -> Void
  ) throws {
    let isOver = Flag()
    self.isOver = isOver
    server = try RawServer { descriptor in
      serve(descriptor, isOver)
      // Closing is not enough, because a child process may have inherited the descriptor.
      shutdown(descriptor, Int32(SHUT_RDWR))
    }
    folder = try ScratchFolder()
    let configuration = ConnectionPool.Configuration(
      endpoint: PushEndpoint(
        url: "https://127.0.0.1:\(server.port)", trustRoots: try folder.write("ca.pem", identity.authorityPEM)),
      service: APNsService(), connections: 1, requestTimeout: requestTimeout, connectTimeout: connectTimeout,
      reconnect: PoolHarness.hasty, engine: engine)
    let completions = completions
    pool = ConnectionPool(
      configuration: configuration,
      credential: try ProviderTokenSource(keyID: PoolHarness.keyID, teamID: PoolHarness.teamID, key: .generate()),
      onCompletions: { completions.add($0) })
  }

  func stop() {
    isOver.set()
    server.stop()
  }
}
