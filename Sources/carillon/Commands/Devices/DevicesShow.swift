import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension DevicesCommand {
  /// `carillon devices show`.
  struct Show: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows a user with attributes, segments and devices; exits 1 when there is none.",
      discussion: """
        Example:
          carillon devices show 4711 --json
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The user's id.") var user: String

    func run() async throws {
      let store = try await global.openStore()
      let lists = try await store.lists(of: user)
      let known = try await store.user(user)
      guard known != nil || !lists.segments.isEmpty || !lists.suppression.isEmpty else {
        throw CommandError(
          .notFound, "there is no user \(Excerpt.quoted(user))", hint: "devices come in with: carillon devices import")
      }
      let record = known ?? UserRecord(user: user)
      try StandardOutput.printLine(global.json ? json(record, lists) : text(record, lists))
    }

    private typealias Lists = (segments: [String], suppression: [SuppressionList])

    private func json(_ record: UserRecord, _ lists: Lists) -> String {
      var json = JSONWriter()
      json.beginObject()
      json.member("user", record.user)
      json.name("attributes")
      if record.attributes.isEmpty { json.raw("{}".utf8) } else { json.raw(record.attributes) }
      json.name("segments")
      json.beginArray()
      for segment in lists.segments { json.value(segment) }
      json.endArray()
      json.name("suppression")
      json.beginArray()
      for list in lists.suppression {
        json.beginObject()
        json.member("app", list.app)
        json.member("category", list.category)
        json.endObject()
      }
      json.endArray()
      json.name("devices")
      json.beginArray()
      for device in record.devices {
        json.beginObject()
        for (name, text) in columns(of: device) { json.member(name, text) }
        json.member("quarantined", device.isQuarantined)
        json.endObject()
      }
      json.endArray()
      json.endObject()
      return json.text
    }

    private func text(_ record: UserRecord, _ lists: Lists) -> String {
      var rows = [["user", record.user], ["segments", lists.segments.joined(separator: ", ")]]
      for list in lists.suppression {
        rows.append(["gets nothing", "of \(list.app)" + (list.category.map { ", category \($0)" } ?? "")])
      }
      for (name, value) in record.attributeTexts.sorted(by: { $0.key < $1.key }) { rows.append([name, value]) }
      for device in record.devices {
        rows.append([device.isQuarantined ? "device, quarantined" : "device", tokenText(of: device)])
        for (name, text) in columns(of: device).dropFirst() {
          if let text { rows.append(["  " + name, text]) }
        }
      }
      return TextTable(rows.map { $0.map(Excerpt.harmless) }).text
    }

    /// The token's text; empty when its service is none of this program's.
    private func tokenText(of device: DeviceRecord) -> String {
      DeviceToken(bytes: device.token).flatMap { PushServices.known[device.service]?.text(of: $0) } ?? ""
    }

    /// What is known of a device, in the order of the contract; `nil` for what nobody said.
    private func columns(of device: DeviceRecord) -> [(name: String, text: String?)] {
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
}
