import PushCore
import Redis

/// A *notice*: the answer of a push service about a device, with the campaign of the push. The key `quarantine` has the
/// notices of quarantined devices. The key `outbox` has notices for keys of other slots, until workers apply them
/// there. `commit.lua` describes the layout.
struct DeviceNotice {
  /// The effect on the device.
  enum Action: UInt8 {
    case prune = 0
    case quarantine = 1
    /// The script that wrote the notice has pruned the device from its user. The token's entry in the owner index must
    /// still be removed.
    case pruned = 2
  }

  /// The part that all notices of a campaign in one value have in common.
  struct Head {
    /// When the answer was recorded, in ms since the epoch.
    var at: UInt64
    var service: String
    var app: String
    var campaign: String

    /// Returns the bytes that follow the time in a head. `commit.lua` writes them unchanged.
    static func names(service: String, app: String, campaign: String) -> [UInt8] {
      var bytes: [UInt8] = []
      for name in [service, app, campaign] { bytes.append(name: name) }
      return bytes
    }
  }

  var head: Head
  var action: Action
  var reason: ReasonCode
  /// The reason's text, if the service has no code for it.
  var unknownReason: String
  /// The time to which the service's answer refers, in ms since the epoch. A device that registered later does not
  /// change.
  var instant: UInt64
  /// The token; empty in the key `quarantine`, where the token is the field name.
  var token: [UInt8]
  /// The user; empty for a raw token of a job whose owner is not looked up yet.
  var user: String

  /// The bytes of this notice with its head.
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

  /// Returns the notices in a reply, which follow one head; none if the bytes have another format.
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

/// Reads the fields of notices one after another; `nil` after the end of the bytes.
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
