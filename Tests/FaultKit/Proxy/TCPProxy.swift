import Dispatch
import EventLoop
import Glibc
import TestSupport

/// A TCP proxy on loopback that injects network faults on demand.
///
/// It forwards bytes between its clients and one target, on an event loop of its own. Faults can be set while it runs,
/// and ``counters`` shows their real effects.
public actor TCPProxy {
  /// The proxy's port, constant for its whole life.
  public nonisolated let port: UInt16
  nonisolated let loop: EventLoop
  public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  /// Counts since the start.
  public internal(set) var counters = ProxyCounters() {
    didSet { if !waiters.isEmpty { resumeWaiters() } }
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

  /// Starts a proxy without a fault.
  ///
  /// - Parameter targetPort: on 127.0.0.1.
  public static func start(to targetPort: UInt16) async throws -> TCPProxy {
    // The port is chosen here and not by Linux. While the proxy refuses connections, Linux keeps its port only if the
    // program requested the port explicitly.
    for _ in 0..<5 {
      let port = try FreePort.find()
      // If another process has taken the port, the next round chooses another one.
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

  /// Sets the fault of all connections, including open ones, and ends the previous fault.
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

  /// Delays every piece in both directions; 0 for no delay. The order stays the same.
  public func setDelay(milliseconds: Int) { delay = UInt64(max(milliseconds, 0)) * 1_000_000 }

  /// Sets a trap, which replaces an unused trap. The trap counts the bytes of one direction over all connections. After
  /// this number of bytes, the connection that carries the next byte is cut, even within a message.
  public func cut(after bytes: Int, of direction: ProxyDirection, by ending: ProxyEnding = .reset) {
    trap = Trap(bytes: max(bytes, 0), direction: direction, ending: ending)
  }

  /// Removes a trap that has not fired.
  public func disarm() { trap = nil }

  /// Connects new clients to another server, like a DNS name that has changed after a failover. Open connections stay.
  ///
  /// - Parameter targetPort: on 127.0.0.1.
  public func retarget(to targetPort: UInt16) throws {
    target = try SocketAddress.resolve(host: "127.0.0.1", port: targetPort)[0]
  }

  /// Cuts every open connection.
  ///
  /// - Returns: number of connections.
  @discardableResult
  public func cutAll(by ending: ProxyEnding = .reset) -> Int {
    let ids = Array(connections.keys)
    for id in ids { close(id, ending) }
    counters.cuts += ids.count
    return ids.count
  }

  /// Refuses new connections, like a machine without a listener. Open connections stay.
  public func refuse() {
    watcher?.wantsRead = false
    // On Linux a listening socket refuses connections after shutdown(2), keeps its port, and can listen again.
    shutdown(listener.descriptor, Int32(SHUT_RDWR))
  }

  /// Accepts new connections again.
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

  private func resumeWaiters() {
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
      // The socket becomes writable when the connection is established.
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
