import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension DevicesCommand {
  /// The command `carillon devices export`.
  struct Export: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "export", abstract: "Write all devices to standard output, in the format of devices import.",
      discussion: """
        The output has no quarantined devices. --json is the same as --format ndjson.

        Examples:
          carillon devices export > devices.csv
          carillon devices export --format ndjson | gzip > devices.ndjson.gz
        """)

    static let effect = Effect.reads

    @OptionGroup var global: GlobalOptions
    @Option(help: "csv or ndjson (default: csv).")
    var format: DeviceRowReader.Format?

    func run() async throws {
      let format = try global.exportFormat(self.format, standard: .csv)
      let store = try await global.openStore()
      var attributes: Set<String> = []
      if format == .csv {
        // The first line of a CSV file names the columns, and each attribute has a column. To know all attributes, the
        // command reads the records of all users once before it writes.
        try await store.registry.forEachUser { users in
          for user in users { attributes.formUnion(user.attributeTexts.keys) }
        }
      }
      var output = StandardOutput()
      var writer = DeviceRowWriter(format: format, services: .known, attributes: attributes.sorted())
      var bar = ProgressBar("exporting", unit: "devices", total: nil)
      var count = 0
      try await store.registry.forEachUser { users in
        for user in users {
          for device in user.devices where !device.isQuarantined {
            guard let row = DeviceRow(device, of: user) else { continue }
            writer.append(row)
            count += 1
          }
        }
        try output.write(writer.take())
        bar.update(done: count)
      }
      try output.write(writer.take())
      try output.flush()
      bar.finish()
    }
  }
}

extension UserRecord {
  /// The user's attributes as strings, because `devices import` stores all values as strings.
  var attributeTexts: [String: String] {
    guard !attributes.isEmpty, let value = try? JSONValue(parsing: attributes, maximumDepth: 2),
      case .object(let members) = value.kind
    else { return [:] }
    var texts: [String: String] = [:]
    for member in members {
      if case .string(let text) = member.value.kind { texts[member.name] = text }
    }
    return texts
  }
}

extension DeviceRow {
  /// Creates the row of a stored device; `nil` for a record without a valid token.
  fileprivate init?(_ device: DeviceRecord, of user: UserRecord) {
    guard let token = DeviceToken(bytes: device.token) else { return nil }
    let given = { (text: String) in text.isEmpty ? nil : text }
    self.init(
      user: user.user, token: token, service: device.service, kind: device.kind, activity: device.activity,
      app: given(device.app), environment: PushEnvironment(rawValue: device.environment), locale: given(device.locale),
      timezone: given(device.timezone), appVersion: given(device.appVersion), osVersion: given(device.osVersion),
      registeredAt: device.registeredAt == 0 ? nil : Int(device.registeredAt),
      lastSeen: device.lastSeen == 0 ? nil : Int(device.lastSeen), attributes: user.attributeTexts)
  }
}
