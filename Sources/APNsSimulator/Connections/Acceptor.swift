internal import Dispatch
internal import EventLoop

/// A listening socket of the simulator. It distributes the accepted connections over the event loops in turn.
actor Acceptor {
  /// Pause after a failed accept, for example because no descriptors are left. The listener stays readable after the
  /// error, so immediate retries would use a whole core.
  private static let pauseAfterError = DispatchTimeInterval.milliseconds(100)

  nonisolated let loop: EventLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
  /// The port that the system assigned.
  nonisolated let port: UInt16

  private let listener: Socket
  private let targets: [SimulatorLoop]
  private let served: any ServedPort
  private var watcher: SocketWatcher?
  private var next = 0

  /// Begins to listen. Connections wait in the kernel until ``start()``.
  init(
    at address: SocketAddress, for served: any ServedPort, targets: [SimulatorLoop]
  ) throws {
    let listener = try Socket.listen(at: address)
    port = try listener.localAddress().port
    loop = EventLoop(label: "apns-simulator.accept.\(port)")
    self.listener = listener
    self.targets = targets
    self.served = served
  }

  /// Starts accepting connections.
  func start() {
    guard watcher == nil else { return }
    watcher = SocketWatcher(
      listener, on: loop, onReadable: { [weak self] in self?.assumeIsolated { $0.acceptInTurn() } }, onWritable: {})
  }

  /// Stops listening. Idempotent.
  func stop() {
    watcher?.close()
  }

  /// Stops watching the listener while ``accept()`` runs. The listener stays readable until its connections are
  /// accepted, so the loop would otherwise start thousands of tasks.
  private func acceptInTurn() {
    watcher?.wantsRead = false
    Task { await accept() }
  }

  private func accept() async {
    do {
      while let socket = try listener.accept() {
        let target = targets[next % targets.count]
        next += 1
        await target.adopt(socket, for: served)
      }
      watcher?.wantsRead = true
    } catch {
      loop.execute(after: Self.pauseAfterError) { [weak self] in
        self?.assumeIsolated { $0.watcher?.wantsRead = true }
      }
    }
  }
}
