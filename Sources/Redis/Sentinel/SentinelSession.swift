import EventLoop

/// Session with one sentinel. It has one connection for requests and one for the subscription, because a connection
/// with a subscription can't be used for requests.
struct SentinelSession: Sendable {
  /// Channel of the messages about a new primary: `name old-host old-port new-host new-port`.
  private static let channel = "+switch-master"

  let sentinel: RedisAddress
  private let asking: RedisConnection
  private let listening: RedisConnection

  /// Connects to a sentinel and subscribes to its messages about new primaries.
  ///
  /// - Parameters:
  ///   - sentinel: the sentinel.
  ///   - options: the options for sentinels.
  ///   - loop: the loop of the connections.
  ///   - announced: called on the loop with the name and the address of a new primary.
  ///   - lost: called on the loop when either connection has ended.
  init(
    _ sentinel: RedisAddress, options: SentinelOptions, on loop: EventLoop,
    announced: @escaping @Sendable (String, RedisAddress) -> Void, lost: @escaping @Sendable () -> Void
  ) async throws(RedisError) {
    let url = RedisURL(isTLS: options.tls != nil, host: sentinel.host, port: sentinel.port, user: options.user)
    let settings = RedisOptions(
      passwordFile: options.passwordFile, tls: options.tls ?? RedisTLS(), connectTimeout: options.timeout,
      answerTimeout: options.timeout)
    self.sentinel = sentinel
    asking = try await RedisConnection.connect(to: url, options: settings, on: loop)
    do throws(RedisError) {
      listening = try await RedisConnection.connect(to: url, options: settings, on: loop)
    } catch {
      await asking.close()
      throw error
    }
    await asking.whenDead { _ in lost() }
    await listening.whenDead { _ in lost() }
    do throws(RedisError) {
      try await listening.subscribe(to: Self.channel) { message in
        if let (name, address) = Self.primary(in: message) { announced(name, address) }
      }
    } catch {
      await close()
      throw error
    }
  }

  /// Asks the sentinel for the primary.
  ///
  /// - Returns: `nil` if the sentinel does not know the name.
  func primary(named name: String) async throws(RedisError) -> RedisAddress? {
    var pipeline = RedisPipeline()
    pipeline.append("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name)
    let reply = try await asking.execute(pipeline)[0]
    if let error = reply.error {
      if error.code == .generic {
        throw RedisError(
          .refused, "this server is not a sentinel: \(error)", endpoint: "\(sentinel)",
          hint: "Write the addresses of sentinels into the URL. Their default port is 26379.")
      }
      throw Handshake.refusal(error, step: "asking a sentinel", endpoint: "\(sentinel)")
    }
    guard !reply.isNull else { return nil }
    guard reply.count >= 2, let host = reply[0].string, let port = reply[1].string.flatMap({ UInt16($0) }) else {
      throw RedisError(
        .protocolViolation, "a sentinel's answer can't be understood: \(reply)", endpoint: "\(sentinel)",
        hint: "Check that a sentinel listens at this address.")
    }
    return RedisAddress(host: host, port: port)
  }

  func close() async {
    await asking.close()
    await listening.close()
  }

  /// Returns the name and the new address in a message; `nil` for any other message.
  static func primary(in message: RedisReply) -> (name: String, address: RedisAddress)? {
    guard message.kind == .array, message.count == 3, message[0].string == "message", message[1].string == channel,
      let words = message[2].string?.split(separator: " "), words.count == 5, let port = UInt16(words[4])
    else { return nil }
    return (String(words[0]), RedisAddress(host: String(words[3]), port: port))
  }
}
