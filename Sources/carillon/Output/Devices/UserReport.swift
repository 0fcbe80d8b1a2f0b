import CampaignStore
import CommandSupport
import PushCore

/// The report of a user, with attributes, segments and devices.
struct UserReport: JSONReport {
  let record: UserRecord
  let segments: [String]
  let suppression: [SuppressionList]

  /// - Throws: `CommandError` if the store has no data of the user.
  init(_ user: String, in store: CampaignStore) async throws {
    (segments, suppression) = try await store.audiences.lists(of: user)
    let known = try await store.registry.user(user)
    guard known != nil || !segments.isEmpty || !suppression.isEmpty else {
      throw CommandError(
        .notFound, "there is no user \(Excerpt.quoted(user))",
        hint: "check the id, or import devices: carillon devices import FILE")
    }
    record = known ?? UserRecord(user: user)
  }

  func writeMembers(to json: inout JSONWriter) {
    json.member("user", record.user)
    json.name("attributes")
    if record.attributes.isEmpty { json.raw("{}".utf8) } else { json.raw(record.attributes) }
    json.array("segments", segments)
    json.objects("suppression", suppression) { json, list in
      json.member("app", list.app)
      json.member("category", list.category)
    }
    json.objects("devices", record.devices) { json, device in
      for (name, text) in Self.columns(of: device) { json.member(name, text) }
      json.member("quarantined", device.isQuarantined)
    }
  }

  /// The complete report as text for people.
  var text: String {
    var rows = [["user", record.user], ["segments", segments.joined(separator: ", ")]]
    for list in suppression {
      rows.append(["suppressed", "by \(list.app)" + (list.category.map { ", category \($0)" } ?? "")])
    }
    for (name, value) in record.attributeTexts.sorted(by: { $0.key < $1.key }) { rows.append([name, value]) }
    for device in record.devices {
      rows.append([device.isQuarantined ? "device, quarantined" : "device", Self.tokenText(of: device)])
      for (name, text) in Self.columns(of: device).dropFirst() {
        if let text { rows.append(["  " + name, text]) }
      }
    }
    return TextTable(rows.map { $0.map(Excerpt.harmless) }).text
  }

  /// Returns the token's text; empty if this program does not know its push service.
  private static func tokenText(of device: DeviceRecord) -> String {
    DeviceToken(bytes: device.token).flatMap { PushServices.known[device.service]?.text(of: $0) } ?? ""
  }

  /// Returns the fields of a device in the order of the API; `nil` for missing values.
  private static func columns(of device: DeviceRecord) -> [(name: String, text: String?)] {
    let given = { (text: String) in text.isEmpty ? nil : text }
    let instant = { (time: UInt64) in time == 0 ? nil : Timestamp.format(milliseconds: Int(time)) }
    return [
      ("token", tokenText(of: device)), ("service", device.service), ("kind", device.kind.rawValue),
      ("activity", device.activity), ("app", given(device.app)), ("environment", given(device.environment)),
      ("locale", given(device.locale)), ("timezone", given(device.timezone)),
      ("appVersion", given(device.appVersion)),
      ("osVersion", given(device.osVersion)), ("registeredAt", instant(device.registeredAt)),
      ("lastSeen", instant(device.lastSeen)),
    ]
  }
}
