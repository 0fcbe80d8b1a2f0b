import Dispatch
import EventLoop
import Glibc
import TestSupport

/// A TCP proxy on loopback that breaks connections as networks do, on demand.
///
/// It passes bytes between whoever connects and one target, on one event loop of its own. What it does instead is set
/// while it runs; ``counters`` tell what really happened.
public actor TCPProxy {
  /// Where to connect; the same for the proxy's whole life.
  public nonisolated let port: UInt16
  nonisolated let loop: EventLoop
  public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  /// What was done so far.
  public internal(set) var counters = ProxyCounters() {
    didSet { if !waiters.isEmpty { tellWaiters() } }
  }

  struct Trap {
    var bytes: Int
    var direction: ProxyDirection
    var ending: ProxyEnding
  }

  private static let backlog: Int32 = 1024

  private var target: SocketAddress
  private let listener: Socket
  private var watcher: SocketWatcher?
  var connections: [Int: ProxyConnection] = [:]
  private var nextID = 0
  var fault = ProxyFault.none
  var delay: UInt64 = 0
  var trap: Trap?
  var timer: LoopTimer?
  var isTimed = false
  private var waiters: [(isMet: @Sendable (ProxyCounters) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []

  /// Starts a proxy that passes everything.
  ///
  /// - Parameter targetPort: on 127.0.0.1.
  public static func start(to targetPort: UInt16) async throws -> TCPProxy {
    // Not a port of the system's choice: Linux keeps only a port that was asked for while it is not listened on.
    for _ in 0..<5 {
      let port = try FreePort.find()
      // Somebody else may be quicker; then another port does.
      guard let listener = try? Socket.listen(at: try SocketAddress.resolve(host: "127.0.0.1", port: port)[0]) else {
        continue
      }
      let proxy = TCPProxy(port, listener, try SocketAddress.resolve(host: "127.0.0.1", port: targetPort)[0])
      await proxy.watch()
      return proxy
    }
    throw TestSupportError("no port for a proxy")
  }

  private init(_ port: UInt16, _ listener: sending Socket, _ target: SocketAddress) {
    self.port = port
    loop = EventLoop(label: "proxy.\(port)")
    self.listener = listener
    self.target = target
  }

  // MARK: Control

  /// Does something else from now on, to all connections, those that are open included. Ends what a fault before did.
  public func set(_ fault: ProxyFault) {
    guard fault != self.fault else { return }
    self.fault = fault
    for (id, connection) in connections {
      if connection.isTainted { close(id, .reset) }
      if fault == .halfOpen { loseTarget(of: connection) }
    }
    guard fault != .stall else { return }
    for id in Array(connections.keys) {
      resume(id)
      flush(id)
    }
  }

  /// Holds every piece back for that long, in both directions; 0 for no longer. The order stays.
  public func setDelay(milliseconds: Int) { delay = UInt64(max(milliseconds, 0)) * 1_000_000 }

  /// Sets a trap: when that many more bytes have gone in a direction, over all connections together, the connection with
  /// the byte after them is cut, in the middle of whatever it was. Replaces a trap that is still set.
  public func cut(after bytes: Int, of direction: ProxyDirection, by ending: ProxyEnding = .reset) {
    trap = Trap(bytes: max(bytes, 0), direction: direction, ending: ending)
  }

  /// Takes a trap away that has not fired.
  public func disarm() { trap = nil }

  /// Has whoever connects from now on talk to another server, as a name does after a failover; those that are open stay.
  ///
  /// - Parameter targetPort: on 127.0.0.1.
  public func retarget(to targetPort: UInt16) throws {
    target = try SocketAddress.resolve(host: "127.0.0.1", port: targetPort)[0]
  }

  /// Cuts every connection that is open.
  ///
  /// - Returns: how many.
  @discardableResult
  public func cutAll(by ending: ProxyEnding = .reset) -> Int {
    let ids = Array(connections.keys)
    for id in ids { close(id, ending) }
    counters.cuts += ids.count
    return ids.count
  }

  /// Refuses new connections, as a machine does on which nobody listens; those that are open stay.
  public func refuse() {
    watcher?.wantsRead = false
    // Linux: a listening socket that is shut down refuses connections, keeps its port, and can listen again.
    shutdown(listener.descriptor, Int32(SHUT_RDWR))
  }

  /// Takes new connections again.
  public func accept() throws {
    guard Glibc.listen(listener.descriptor, Self.backlog) == 0 else {
      throw TestSupportError("proxy at \(port): \(String(cString: strerror(errno)))")
    }
    watcher?.wantsRead = true
  }

  /// Returns when the counters meet a condition.
  public func wait(until isMet: @escaping @Sendable (ProxyCounters) -> Bool) async {
    if isMet(counters) { return }
    await withCheckedContinuation { waiters.append((isMet, $0)) }
  }

  /// Closes the port and resets every connection. Idempotent.
  public func stop() {
    watcher?.close()
    for id in Array(connections.keys) { close(id, .reset) }
    timer?.disarm()
  }

  private func tellWaiters() {
    let met = waiters.filter { $0.isMet(counters) }
    guard !met.isEmpty else { return }
    waiters.removeAll { $0.isMet(counters) }
    for waiter in met { waiter.continuation.resume() }
  }

  // MARK: Connections

  private func watch() {
    watcher = SocketWatcher(
      listener, on: loop, onReadable: { [weak self] in self?.assumeIsolated { $0.take() } }, onWritable: {})
  }

  private func take() {
    while let client = try? listener.accept() { open(client) }
  }

  private func open(_ client: Socket) {
    nextID += 1
    let id = nextID
    let upstream = fault == .halfOpen ? nil : try? Socket.connect(to: target)
    let connection = ProxyConnection(client: client, target: upstream)
    connections[id] = connection
    counters.accepted += 1
    counters.open += 1
    if fault == .halfOpen {
      counters.halfOpened += 1
    } else if upstream == nil {
      watch(id, connection.client, .requests)
      return close(id, .reset)
    }
    watch(id, connection.client, .requests)
    if let target = connection.target {
      watch(id, target, .replies)
      // A connection is made when the socket is writable.
      target.watcher?.wantsRead = false
      target.watcher?.wantsWrite = true
    }
  }

  private func watch(_ id: Int, _ side: ProxyConnection.Side, _ direction: ProxyDirection) {
    side.watcher = SocketWatcher(
      side.socket, on: loop,
      onReadable: { [weak self] in self?.assumeIsolated { $0.read(id, direction) } },
      onWritable: { [weak self] in self?.assumeIsolated { $0.writable(id, direction) } })
  }

  func close(_ id: Int, _ ending: ProxyEnding) {
    guard let connection = connections.removeValue(forKey: id) else { return }
    connection.close(ending)
    counters.open -= 1
  }

  private func loseTarget(of connection: ProxyConnection) {
    guard connection.target != nil else { return }
    connection.loseTarget()
    counters.halfOpened += 1
  }
}
