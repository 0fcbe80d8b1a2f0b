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
      let segments = try await store.segments(of: user)
      let known = try await store.user(user)
      guard known != nil || !segments.isEmpty else {
        throw CommandError(
          .notFound, "there is no user \(Excerpt.quoted(user))", hint: "devices come in with: carillon devices import")
      }
      let record = known ?? UserRecord(user: user)
      try StandardOutput.printLine(global.json ? json(record, segments) : text(record, segments))
    }

    private func json(_ record: UserRecord, _ segments: [String]) -> String {
      var json = JSONWriter()
      json.beginObject()
      json.member("user", record.user)
      json.name("attributes")
      if record.attributes.isEmpty { json.raw("{}".utf8) } else { json.raw(record.attributes) }
      json.name("segments")
      json.beginArray()
      for segment in segments { json.value(segment) }
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

    private func text(_ record: UserRecord, _ segments: [String]) -> String {
      var rows = [["user", record.user], ["segments", segments.joined(separator: ", ")]]
      for (name, value) in record.attributeTexts.sorted(by: { $0.key < $1.key }) { rows.append([name, value]) }
      for device in record.devices {
        rows.append([device.isQuarantined ? "device, quarantined" : "device", Hex.text(device.token)])
        for (name, text) in columns(of: device).dropFirst() {
          if let text { rows.append(["  " + name, text]) }
        }
      }
      return TextTable(rows.map { $0.map(Excerpt.harmless) }).text
    }

    /// What is known of a device, in the order of the contract; `nil` for what nobody said.
    private func columns(of device: DeviceRecord) -> [(name: String, text: String?)] {
      let given = { (text: String) in text.isEmpty ? nil : text }
      let instant = { (time: UInt64) in time == 0 ? nil : Timestamp.format(milliseconds: Int(time)) }
      return [
        ("token", Hex.text(device.token)), ("app", given(device.app)), ("environment", given(device.environment)),
        ("locale", given(device.locale)), ("timezone", given(device.timezone)),
        ("appVersion", given(device.appVersion)),
        ("osVersion", given(device.osVersion)), ("registeredAt", instant(device.registeredAt)),
        ("lastSeen", instant(device.lastSeen)),
      ]
    }
  }
}

extension Hex {
  fileprivate static func text(_ bytes: [UInt8]) -> String { String(decoding: encode(bytes), as: UTF8.self) }
}
