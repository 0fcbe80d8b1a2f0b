public import PushCore
import Redis

/// A quarantined device: its push service called the token bad. The device stays in the registry but gets no pushes.
public struct QuarantinedDevice: Sendable, Equatable {
  public var user: String
  public var token: DeviceToken
  /// Name of the token's push service.
  public var service: String
  /// The app of the rejected push.
  public var app: String
  /// The push service's reason for the rejection.
  public var reason: String
  /// The campaign of the rejected push.
  public var campaign: String
  /// Time when the service's answer was recorded, in ms since the epoch.
  public var at: Int

  /// Reads the stored notice.
  ///
  /// - Returns: `nil` if the notice has another format.
  init?(token: DeviceToken, note: RedisReply, _ services: PushServices) {
    guard let notice = DeviceNotice.all(in: note).first else { return nil }
    user = notice.user
    self.token = token
    service = notice.head.service
    app = notice.head.app
    reason = notice.reasonText(of: services[notice.head.service])
    campaign = notice.head.campaign
    at = Int(notice.head.at)
  }
}

/// Operations on quarantined devices. A newer registration releases a device automatically.
extension Results {
  /// Calls `body` with all quarantined devices, a page at a time, in no order. A device may appear twice if devices
  /// enter or leave the quarantine during the call.
  ///
  /// - Parameter body: returns false to stop.
  public func forEachQuarantined(_ body: ([QuarantinedDevice]) async throws -> Bool) async throws {
    for partition in 0..<keys.partitions {
      var continues = true
      try await store.forEachPage {
        $1.append("HSCAN", keys.quarantine(partition), $0, "COUNT", CampaignStore.batch)
      } _: { pairs in
        let page = stride(from: 1, to: pairs.count, by: 2).compactMap { index in
          pairs[index - 1].bytes.flatMap { DeviceToken(bytes: $0) }.flatMap {
            QuarantinedDevice(token: $0, note: pairs[index], services)
          }
        }
        if !page.isEmpty { continues = try await body(page) }
        return continues
      }
      guard continues else { return }
    }
  }

  /// Returns the quarantined devices of tokens; `nil` for a token that is not quarantined.
  ///
  /// - Parameters:
  ///   - tokens: the tokens.
  ///   - service: push service of the tokens.
  public func quarantined(_ tokens: [DeviceToken], of service: any PushService) async throws -> [QuarantinedDevice?] {
    let owners = try await store.registry.owners(of: tokens, service)
    var devices: [QuarantinedDevice?] = tokens.map { _ in nil }
    for (index, owner) in owners.enumerated() {
      guard let owner else { continue }
      var pipeline = RedisPipeline()
      let partition = Partition.of(user: owner, count: keys.partitions)
      pipeline.append("HGET", keys.quarantine(partition), tokens[index].bytes)
      devices[index] = QuarantinedDevice(token: tokens[index], note: try await run(pipeline)[0], services)
    }
    return devices
  }

  /// Releases devices from quarantine, so that they get pushes again.
  ///
  /// - Returns: whether each device was in quarantine.
  public func release(_ devices: [QuarantinedDevice]) async throws -> [Bool] {
    try await store.registry.edit(devices.map { Self.edit($0, .release, instant: Self.endOfTime) })
  }

  /// Removes devices from the registry, unless they have registered since, and adds them to the feedback list.
  ///
  /// - Returns: whether each device was removed.
  public func purge(_ devices: [QuarantinedDevice]) async throws -> [Bool] {
    let gone = try await store.registry.edit(devices.map { Self.edit($0, .prune, instant: $0.at) })
    let now = try await store.time() / 1000
    try await appendFeedback(
      zip(devices, gone).filter { $1 }.map(\.0).map {
        feedback(
          user: $0.user, token: Registry.OwnedToken($0.token.bytes, $0.service), app: $0.app, reason: $0.reason, at: now
        )
      })
    return gone
  }

  /// The largest time that a device record can store.
  static let endOfTime = 1 << 48 - 1

  private static func edit(
    _ device: QuarantinedDevice, _ action: Registry.DeviceEdit.Action, instant: Int
  ) -> Registry.DeviceEdit {
    Registry.DeviceEdit(
      user: device.user, token: Registry.OwnedToken(device.token.bytes, device.service), action: action,
      instant: instant)
  }
}
