import ArgumentParser
import CampaignStore
import CommandSupport
import Foundation
import PushCore

extension DevicesCommand {
  /// The command `carillon devices register`.
  struct Register: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "register", abstract: "Register a device, or move it to another user.",
      discussion: """
        Exits with 1 if another user has a newer registration of the token. With --attribute, the new attributes \
        replace all attributes of the user. Without it, the attributes do not change.

        Example:
          carillon devices register --user 4711 --token 0f2c… --locale de --attribute name=Ada
        """)

    static let effect = Effect.changes([.deviceRegister])

    @OptionGroup var global: GlobalOptions
    @Option(help: "The user's id.") var user: String
    @Option(help: "The device token, in the form of its push service.") var token: String
    @Option(help: "The push service (default: the app's service, or apns).") var service: String?
    @Option(help: "The purpose of the token, such as voip (default: alert).") var kind: String?
    @Option(help: "The Live Activity, by the name that the app gave it; only for kind liveactivity.") var activity:
      String?
    @Option(help: "The app (default: all apps).") var app: String?
    @Option(help: "production or sandbox (default: the app's environment).") var environment: String?
    @Option(help: "The locale, such as en or zh-Hans-CN.") var locale: String?
    @Option(help: "The time zone: an IANA name such as Europe/Berlin, or an offset such as GMT+0530.") var timezone:
      String?
    @Option(help: "The version of the app.") var appVersion: String?
    @Option(help: "The version of the operating system.") var osVersion: String?
    @Option(help: "The time of registration, RFC 3339 or milliseconds (default: now).") var registeredAt: String?
    @Option(help: ArgumentHelp("An attribute of the user.", valueName: "name=value")) var attribute: [String] = []
    @Option(
      help: ArgumentHelp("Accept this attribute, although its name is similar to an option.", valueName: "name"))
    var allowAttribute: [String] = []

    func run() async throws {
      let configuration = try global.loadConfiguration()
      var row = try row(configuration)
      let store = try await StoreConnection(configuration.redis).open(creating: true, changing: true)
      let service = try PushServices.known.named(row.service)
      let token = service.text(of: row.token)
      // Use the clock of Redis, because the times of registrations from several machines are compared.
      if row.registeredAt == nil { row.registeredAt = try await store.time() / 1000 }
      guard try await store.registry.register([DeviceRegistration(row, app: "")]) == [true] else {
        let owner = try await store.registry.owners(of: [row.token], service)[0] ?? "another user"
        throw CommandError(
          .failed, "the token has a newer registration, for \(Excerpt.quoted(owner))",
          hint: "omit --registered-at to register the device as of now")
      }
      await AuditTrail(store).record(.deviceRegister, devices: 1, of: row.app, by: .commandLine)
      guard global.json else {
        try StandardOutput.printLine("registered \(token) for \(Excerpt.harmless(row.user))")
        return try reportRefusal(of: row)
      }
      var json = JSONWriter()
      json.beginObject()
      json.member("user", row.user)
      json.member("token", token)
      json.member("registeredAt", row.registeredAt.map(Timestamp.format(milliseconds:)))
      json.endObject()
      try StandardOutput.printLine(json.text)
      try reportRefusal(of: row)
    }

    /// Throws an error if Carillon has refused the time zone of the device. The device is then registered without a
    /// time zone.
    private func reportRefusal(of row: DeviceRow) throws {
      if let refusal = row.refusal { throw CommandError(.input, refusal) }
    }

    /// Returns the device as a row, with the same checks as for a row of a file.
    private func row(_ configuration: CarillonConfiguration) throws -> DeviceRow {
      let vocabulary = DeviceVocabulary(
        services: .known(apps: configuration.appServices), apps: Set(configuration.apps.keys),
        allowedAttributes: Set(allowAttribute),
        now: Int(Date.now.timeIntervalSince1970 * 1000))
      var draft = DeviceRowDraft(vocabulary)
      for (column, text) in [
        (DeviceColumn.user, user), (.token, token), (.service, service), (.kind, kind),
        (.activity, activity), (.app, app), (.environment, environment), (.locale, locale),
        (.timezone, timezone), (.appVersion, appVersion), (.osVersion, osVersion), (.registeredAt, registeredAt),
      ] {
        if let text { try draft.accept(column, text) }
      }
      for text in attribute {
        guard let equals = text.firstIndex(of: "=") else {
          throw CommandError(.usage, "--attribute \(Excerpt.quoted(text)) has no value: write name=value")
        }
        let name = try vocabulary.attributeName(String(text[..<equals]))
        try draft.setAttribute(name, to: String(text[text.index(after: equals)...]))
      }
      return try draft.row()
    }
  }
}
