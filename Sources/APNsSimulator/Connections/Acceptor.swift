internal import Dispatch
internal import EventLoop

/// A listening socket whose connections go round the event loops.
actor Acceptor {
  /// Out of descriptors, say: a listener stays readable, and trying at once again would burn a core.
  private static let pauseAfterError = DispatchTimeInterval.milliseconds(100)

  nonisolated let loop: EventLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
  /// The port that the system gave.
  nonisolated let port: UInt16

  private let listener: Socket
  private let targets: [SimulatorLoop]
  private let purpose: SimulatorLoop.Purpose
  private var watcher: SocketWatcher?
  private var next = 0

  /// Begins to listen; connections wait in the kernel until ``start()``.
  init(
    at address: SocketAddress, for purpose: SimulatorLoop.Purpose, targets: [SimulatorLoop]
  ) throws {
    let listener = try Socket.listen(at: address)
    port = try listener.localAddress().port
    loop = EventLoop(label: "apns-simulator.accept.\(port)")
    self.listener = listener
    self.targets = targets
    self.purpose = purpose
  }

  /// Accepts from now on.
  func start() {
    guard watcher == nil else { return }
    watcher = SocketWatcher(
      listener, on: loop, onReadable: { [weak self] in self?.assumeIsolated { $0.acceptInTurn() } }, onWritable: {})
  }

  /// Stops listening. Idempotent.
  func stop() {
    watcher?.close()
  }

  /// One at a time: a listener stays readable until its connections are taken, and a loop that is told so again and again
  /// meanwhile would begin thousands of tasks.
  private func acceptInTurn() {
    watcher?.wantsRead = false
    Task { await accept() }
  }

  private func accept() async {
    do {
      while let socket = try listener.accept() {
        let target = targets[next % targets.count]
        next += 1
        await target.adopt(socket, for: purpose)
      }
      watcher?.wantsRead = true
    } catch {
      loop.execute(after: Self.pauseAfterError) { [weak self] in
        self?.assumeIsolated { $0.watcher?.wantsRead = true }
      }
    }
  }
}
