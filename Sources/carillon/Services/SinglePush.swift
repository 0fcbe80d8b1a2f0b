import APNs
import Foundation
import PushCore
import PushWorker

/// One push over a connection of its own, and everything of it that can be shown.
struct SinglePush {
  /// What became of it.
  struct Outcome {
    var completion: PushCompletion
    /// From the submission to the answer, connecting included.
    var duration: Duration
  }

  /// A server that has not let us in by then is as good as gone for somebody who waits at a terminal.
  private static let connectTimeout: UInt64 = 5_000_000_000
  /// Between looks at whether the connection has failed.
  private static let interval = Duration.milliseconds(20)

  let channel: AppChannel
  let headers: PushHeaders
  let token: DeviceToken
  let payload: [UInt8]
  /// Made up for this push, so that it can be found in Apple's console.
  let id = UUID()

  /// The address that the request goes to.
  var url: String { "\(channel.endpoint.url)/3/device/\(token.hex)" }

  /// The headers of the request in their order; the provider token is shortened, as it is a secret for an hour.
  var headerLines: [(name: String, value: String)] {
    var lines = [("apns-id", id.uuidString.lowercased())]
    if case .token(let token)? = channel.credential.authorization() {
      lines.append(("authorization", "bearer \(token.jwt.prefix(12))… (\(token.jwt.utf8.count) characters)"))
    }
    lines += [
      ("apns-topic", headers.topic), ("apns-push-type", headers.pushType.rawValue),
      ("apns-priority", String(headers.priority)),
    ]
    if let expiration = headers.expiration { lines.append(("apns-expiration", String(expiration))) }
    if let collapseID = headers.collapseID { lines.append(("apns-collapse-id", collapseID)) }
    return lines
  }

  /// Sends it.
  ///
  /// - Throws: ``CommandError`` `unreachable` when no answer came.
  func send() async throws -> Outcome {
    let (completions, continuation) = AsyncStream.makeStream(of: PushCompletion.self)
    let pool = ConnectionPool(
      configuration: .init(endpoint: channel.endpoint, connections: 1, connectTimeout: Self.connectTimeout),
      credential: channel.credential
    ) { completions in
      for completion in completions { continuation.yield(completion) }
    }
    let start = ContinuousClock.now
    pool.submit(batch, lane: 0)
    let completion = await withTaskGroup(of: PushCompletion?.self) { group in
      group.addTask { await completions.first { _ in true } }
      group.addTask {
        // A connection that failed is tried again for ever, which is right for a worker.
        while pool.published.failures == 0, !Task.isCancelled { try? await Task.sleep(for: Self.interval) }
        return nil
      }
      defer { group.cancelAll() }
      return await group.next() ?? nil
    }
    let duration = ContinuousClock.now - start
    let error = pool.published.lastError
    _ = await pool.drain(deadline: 1_000_000_000)
    if completion?.kind != .answered, let reason = channel.credential.stopped {
      throw CommandError(
        .failed, "APNs refuses the credential: \(channel.credential.explain(reason))",
        hint: "the log of a worker has the same; nothing was sent")
    }
    guard let completion, completion.kind == .answered else {
      let isInDoubt = completion?.kind == .ambiguous
      throw CommandError(
        .unreachable,
        "\(channel.endpoint.url): \(error ?? "no answer")" + (isInDoubt ? "; APNs may have taken the push" : ""),
        hint: "check the network, a firewall (port 443 or 2197), and the app's endpoint and trustRoots")
    }
    return Outcome(completion: completion, duration: duration)
  }

  private var batch: PushBatch {
    var batch = PushBatch(headers: headers)
    batch.bytes = payload + token.bytes
    let end = Int32(payload.count)
    // The 16 bytes of the UUID stand in network order.
    let halves = withUnsafeBytes(of: id.uuid) { bytes in
      (bytes.load(as: UInt64.self).bigEndian, bytes.load(fromByteOffset: 8, as: UInt64.self).bigEndian)
    }
    batch.pushes = [Push(tag: 0, apnsID: halves, token: end..<(end + Int32(token.bytes.count)), payload: 0..<end)]
    return batch
  }
}
