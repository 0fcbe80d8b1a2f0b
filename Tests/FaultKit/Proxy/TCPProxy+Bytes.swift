import Dispatch
import EventLoop

/// The path of bytes: read from one side, processed by the current fault, written to the other side when they are due.
extension TCPProxy {
  private static var readSize: Int { 64 << 10 }

  func writable(_ id: Int, _ direction: ProxyDirection) {
    guard let connection = connections[id], let side = connection.side(direction) else { return }
    if !side.isConnected {
      guard side.socket.connectionError() == nil else { return close(id, .reset) }
      side.isConnected = true
      side.watcher?.wantsRead = true
    }
    side.watcher?.wantsWrite = false
    flush(id)
  }

  func read(_ id: Int, _ direction: ProxyDirection) {
    guard let connection = connections[id], let side = connection.side(direction) else { return }
    guard fault != .stall else {
      side.isStalled = true
      side.watcher?.wantsRead = false
      counters.stalls += 1
      return
    }
    guard !side.pipe.isFull else {
      side.watcher?.wantsRead = false
      return
    }
    do {
      try withUnsafeTemporaryAllocation(byteCount: Self.readSize, alignment: 16) { buffer in
        switch try side.socket.read(into: buffer) {
        case .bytes(let count): pass(id, connection, direction, UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        case .closed: end(id, connection, side)
        case .wantsRead, .wantsWrite: break
        }
      }
    } catch {
      close(id, .reset)
    }
  }

  private func pass(
    _ id: Int, _ connection: ProxyConnection, _ direction: ProxyDirection, _ bytes: UnsafeRawBufferPointer
  ) {
    if isSwallowing(connection, direction) {
      connection.isTainted = true
      if direction == .requests {
        counters.swallowedRequestBytes += bytes.count
      } else {
        counters.swallowedReplyBytes += bytes.count
      }
      return
    }
    guard let side = connection.side(direction) else { return }
    if let trap, trap.direction == direction {
      guard bytes.count > trap.bytes else {
        self.trap?.bytes -= bytes.count
        return forward(id, side, bytes)
      }
      self.trap = nil
      forward(id, side, UnsafeRawBufferPointer(rebasing: bytes[..<trap.bytes]))
      close(id, trap.ending)
      counters.cuts += 1
      return
    }
    forward(id, side, bytes)
  }

  private func isSwallowing(_ connection: ProxyConnection, _ direction: ProxyDirection) -> Bool {
    if connection.target == nil { return true }
    guard case .drop(let requests, let replies) = fault else { return false }
    return direction == .requests ? requests : replies
  }

  private func forward(_ id: Int, _ side: ProxyConnection.Side, _ bytes: UnsafeRawBufferPointer) {
    guard !bytes.isEmpty else { return }
    side.pipe.append(bytes, due: EventLoop.now + delay)
    if delay > 0 { counters.delayed += 1 }
    flush(id)
  }

  /// Handles the end of one side. The other side is notified after all earlier bytes have left.
  private func end(_ id: Int, _ connection: ProxyConnection, _ side: ProxyConnection.Side) {
    side.pipe.hasEnded = true
    side.watcher?.wantsRead = false
    if connection.isTainted { close(id, .finish) } else { flush(id) }
  }

  /// Writes the pieces that are due in both directions.
  func flush(_ id: Int) {
    guard fault != .stall, let connection = connections[id] else { return }
    do {
      try flush(connection, .requests)
      try flush(connection, .replies)
    } catch {
      return close(id, .reset)
    }
    if connection.isFinished { close(id, .finish) }
  }

  private func flush(_ connection: ProxyConnection, _ direction: ProxyDirection) throws {
    guard let side = connection.side(direction), let other = connection.opposite(direction), other.isConnected,
      !side.pipe.hasForwardedEnd
    else { return }
    let wasFull = side.pipe.isFull
    let (count, isBlocked) = try side.pipe.flush(to: other.socket, now: EventLoop.now)
    if direction == .requests { counters.requestBytes += count } else { counters.replyBytes += count }
    if isBlocked { other.watcher?.wantsWrite = true }
    if wasFull, !side.pipe.isFull, !side.pipe.hasEnded { side.watcher?.wantsRead = true }
    if side.pipe.isEmpty, side.pipe.hasEnded {
      side.pipe.hasForwardedEnd = true
      other.socket.finishWriting()
    } else if !isBlocked, let due = side.pipe.due {
      flushLater(due)
    }
  }

  /// Reads again after a stall.
  func resume(_ id: Int) {
    guard let connection = connections[id] else { return }
    for side in [connection.client, connection.target].compactMap({ $0 }) where side.isStalled {
      side.isStalled = false
      side.watcher?.wantsRead = true
    }
  }

  private func flushLater(_ due: UInt64) {
    guard !isTimed else { return }
    isTimed = true
    let timer =
      self.timer
      ?? LoopTimer(on: loop) { [weak self] in
        self?.assumeIsolated { $0.flushAll() }
      }
    self.timer = timer
    let now = EventLoop.now
    timer.schedule(after: .nanoseconds(due > now ? Int(due - now) : 0))
  }

  private func flushAll() {
    isTimed = false
    for id in Array(connections.keys) { flush(id) }
  }
}
