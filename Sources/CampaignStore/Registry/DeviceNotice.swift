import PushCore
import Redis

/// What a push service said of a device, and where: what a quarantine keeps of it, and what an outbox has others hear of.
/// The layout is told in `commit.lua`.
struct DeviceNotice {
  /// What it does to the device.
  enum Action: UInt8 {
    case prune = 0
    case quarantine = 1
    /// Pruned already, in the script that wrote the notice; the owner index has not heard of it.
    case pruned = 2
  }

  /// What a campaign's notices have in common.
  struct Head {
    /// When the answer was recorded, in ms since the epoch.
    var at: UInt64
    var service: String
    var app: String
    var campaign: String

    /// What the script puts behind the time.
    static func names(service: String, app: String, campaign: String) -> [UInt8] {
      var bytes: [UInt8] = []
      for name in [service, app, campaign] { bytes.append(name: name) }
      return bytes
    }
  }

  var head: Head
  var action: Action
  var reason: ReasonCode
  /// The reason's text, where the service has no code for it.
  var unknownReason: String
  /// What the answer was about, in ms since the epoch: a device that registered later is another.
  var instant: UInt64
  /// Nothing in a quarantine, which has the token beside it.
  var token: [UInt8]
  /// Nothing for a raw token of a job, until its owner is known.
  var user: String

  /// One notice with its head.
  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(time: head.at)
    bytes += Head.names(service: head.service, app: head.app, campaign: head.campaign)
    bytes.append(action.rawValue)
    bytes.append(reason.rawValue)
    bytes.append(time: instant)
    bytes.append(name: unknownReason)
    bytes.append(length: token.count)
    bytes.append(contentsOf: token)
    bytes.append(length: user.utf8.count)
    bytes.append(contentsOf: user.utf8)
    return bytes
  }

  /// The notices that stand behind one head; none where the bytes are not such.
  static func all(in reply: RedisReply) -> [DeviceNotice] {
    reply.withBytes { bytes in
      var reader = NoticeReader(bytes: bytes)
      guard let at = reader.time(), let service = reader.name(), let app = reader.name(), let campaign = reader.name()
      else { return [] }
      let head = Head(at: at, service: service, app: app, campaign: campaign)
      var notices: [DeviceNotice] = []
      while let notice = reader.notice(head) { notices.append(notice) }
      return notices
    }
  }
}

extension [UInt8] {
  fileprivate mutating func append(time: UInt64) {
    for shift in stride(from: 40, through: 0, by: -8) { append(UInt8(truncatingIfNeeded: time >> UInt64(shift))) }
  }
}

/// Reads field after field; `nil` behind the end.
private struct NoticeReader {
  let bytes: UnsafeRawBufferPointer
  var at = 0

  mutating func take(_ count: Int) -> UnsafeRawBufferPointer? {
    guard at + count <= bytes.count else { return nil }
    defer { at += count }
    return UnsafeRawBufferPointer(rebasing: bytes[at..<(at + count)])
  }

  mutating func byte() -> UInt8? { take(1)?[0] }
  mutating func time() -> UInt64? { take(6).map { $0.reduce(0) { $0 << 8 | UInt64($1) } } }
  mutating func name() -> String? { byte().flatMap { take(Int($0)) }.map { String(decoding: $0, as: UTF8.self) } }
  mutating func text() -> UnsafeRawBufferPointer? { take(2).flatMap { take($0.length(at: 0)) } }

  mutating func notice(_ head: DeviceNotice.Head) -> DeviceNotice? {
    guard let action = byte().flatMap(DeviceNotice.Action.init(rawValue:)), let reason = byte(), let instant = time(),
      let unknownReason = name(), let token = text(), let user = text()
    else { return nil }
    return DeviceNotice(
      head: head, action: action, reason: ReasonCode(rawValue: reason), unknownReason: unknownReason, instant: instant,
      token: Array(token), user: String(decoding: user, as: UTF8.self))
  }
}
