public import PushCore
import Redis

/// A device that is kept, and not sent to any more: APNs called its token bad, or of another topic.
public struct QuarantinedDevice: Sendable, Equatable {
  public var user: String
  public var token: DeviceToken
  /// The app that it was sent to.
  public var app: String
  /// What APNs said.
  public var reason: String
  /// The campaign whose push it was.
  public var campaign: String
  /// ms since the epoch.
  public var at: Int

  /// Memberwise.
  public init(user: String, token: DeviceToken, app: String, reason: String, campaign: String, at: Int) {
    self.user = user
    self.token = token
    self.app = app
    self.reason = reason
    self.campaign = campaign
    self.at = at
  }

  /// From what stands in Redis, as `commit.lua` writes it.
  init?(note: [UInt8]) {
    guard let value = try? JSONValue(parsing: note, maximumDepth: 2), case .object(let members) = value.kind else {
      return nil
    }
    var text: [String: String] = [:]
    for member in members { if case .string(let string) = member.value.kind { text[member.name] = string } }
    guard let user = text["user"], let token = text["token"].flatMap({ DeviceToken(hex: $0) }) else { return nil }
    self.init(
      user: user, token: token, app: text["app"] ?? "", reason: text["reason"] ?? "", campaign: text["campaign"] ?? "",
      at: text["at"].flatMap { Int($0) } ?? 0)
  }

  var note: [UInt8] {
    var json = JSONWriter()
    json.beginObject()
    json.member("user", user)
    json.member("token", token.hex)
    json.member("app", app)
    json.member("reason", reason)
    json.member("campaign", campaign)
    json.member("at", String(at))
    json.endObject()
    return json.take()
  }
}

/// What is done about devices in quarantine. A newer registration frees a device by itself.
extension CampaignStore {
  /// Walks over all devices in quarantine, a page at a time, in no order. One may come twice when others come and go.
  ///
  /// - Parameter body: returns false to stop.
  public func forEachQuarantined(_ body: ([QuarantinedDevice]) async throws -> Bool) async throws {
    for partition in 0..<keys.partitions {
      var cursor = "0"
      repeat {
        var pipeline = RedisPipeline()
        pipeline.append("HSCAN", keys.quarantine(partition), cursor, "COUNT", Self.batch)
        let reply = try await run(pipeline)[0]
        cursor = reply[0].string ?? "0"
        let pairs = reply[1]
        let page = stride(from: 1, to: pairs.count, by: 2).compactMap { index in
          pairs[index].bytes.flatMap { QuarantinedDevice(note: Array($0)) }
        }
        if !page.isEmpty, try await !body(page) { return }
      } while cursor != "0"
    }
  }

  /// What is known of tokens in quarantine; `nil` for those that are not.
  public func quarantined(_ tokens: [DeviceToken]) async throws -> [QuarantinedDevice?] {
    let owners = try await owners(of: tokens)
    var devices: [QuarantinedDevice?] = tokens.map { _ in nil }
    for (index, owner) in owners.enumerated() {
      guard let owner else { continue }
      var pipeline = RedisPipeline()
      let partition = Partition.of(user: owner, count: keys.partitions)
      pipeline.append("HGET", keys.quarantine(partition), tokens[index].bytes)
      devices[index] = try await run(pipeline)[0].bytes.flatMap { QuarantinedDevice(note: Array($0)) }
    }
    return devices
  }

  /// Lets devices be sent to again.
  ///
  /// - Returns: for each whether it was in quarantine.
  public func release(_ devices: [QuarantinedDevice]) async throws -> [Bool] {
    try await edit(devices.map { Self.edit($0, .release, instant: Self.endOfTime) })
  }

  /// Takes devices out of the registry, unless they have registered since, and tells the backend.
  ///
  /// - Returns: for each whether it is gone.
  public func purge(_ devices: [QuarantinedDevice]) async throws -> [Bool] {
    let gone = try await edit(devices.map { Self.edit($0, .prune, instant: $0.at) })
    let now = try await time() / 1000
    try await tellBackend(
      zip(devices, gone).filter { $1 }.map {
        FeedbackEntry.json(user: $0.0.user, token: $0.0.token, app: $0.0.app, reason: $0.0.reason, at: now)
      })
    return gone
  }

  /// The largest time that a device record can have.
  private static let endOfTime = 1 << 48 - 1

  private static func edit(
    _ device: QuarantinedDevice, _ action: DeviceEdit.Action, instant: Int
  ) -> DeviceEdit {
    DeviceEdit(user: device.user, token: device.token.bytes, action: action, instant: instant)
  }
}
