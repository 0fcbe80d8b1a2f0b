import ArgumentParser
import CampaignStore
import CommandSupport
import Foundation
import PushCore

extension DevicesCommand {
  /// `carillon devices register`.
  struct Register: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Registers one device, or moves it to another user.",
      discussion: """
        Exits 1 when a newer registration of the token for another user stands. Attributes replace all that the user \
        had; without any they stay.

        Example:
          carillon devices register --user 4711 --token 0f2c… --locale de --attribute name=Ada
        """)

    @OptionGroup var global: GlobalOptions
    @Option(help: "The user's id.") var user: String
    @Option(help: "The device token, as its push service writes it.") var token: String
    @Option(help: "Its push service; that of the app unless given, or apns.") var service: String?
    @Option(help: "What the token is for, such as voip; alert unless given.") var kind: String?
    @Option(help: "The Live Activity, by the app's own name, of a token of kind liveactivity.") var activity: String?
    @Option(help: "The app; any unless given.") var app: String?
    @Option(help: "production or sandbox; the app's unless given.") var environment: String?
    @Option(help: "Such as en or zh-Hans-CN.") var locale: String?
    @Option(help: "An IANA name such as Europe/Berlin, or an offset such as GMT+0530.") var timezone: String?
    @Option(help: "The version of the app.") var appVersion: String?
    @Option(help: "The version of the system.") var osVersion: String?
    @Option(help: "RFC 3339 or milliseconds; now unless given.") var registeredAt: String?
    @Option(help: ArgumentHelp("An attribute of the user.", valueName: "name=value")) var attribute: [String] = []
    @Option(help: ArgumentHelp("An attribute, though its name is nearly that of an option.", valueName: "name"))
    var allowAttribute: [String] = []

    func run() async throws {
      let configuration = try global.loadConfiguration()
      if let app { try configuration.checkApp(app) }
      var row = try row()
      let store = try await StoreConnection(configuration.redis).open(creating: true, changing: true)
      let service = try PushServices.known.named(row.service)
      let token = service.text(of: row.token)
      // Redis' clock, as everywhere: registrations of several machines are compared with each other.
      if row.registeredAt == nil { row.registeredAt = try await store.time() / 1000 }
      guard try await store.registry.register([DeviceRegistration(row, app: "")]) == [true] else {
        let owner = try await store.registry.owners(of: [row.token], service)[0] ?? "another user"
        throw CommandError(
          .failed, "a newer registration of the token for \(Excerpt.quoted(owner)) stands",
          hint: "leave --registered-at out to register it as of now")
      }
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

    /// Fails where the device was registered without its time zone.
    private func reportRefusal(of row: DeviceRow) throws {
      if let refusal = row.refusal { throw CommandError(.input, refusal) }
    }

    /// The same checks as for a row of a file.
    private func row() throws -> DeviceRow {
      let vocabulary = DeviceVocabulary(
        services: .known, allowedAttributes: Set(allowAttribute), now: Int(Date.now.timeIntervalSince1970 * 1000))
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
          throw CommandError(.usage, "--attribute \(Excerpt.quoted(text)): a name and a value are wanted: name=value")
        }
        let name = try vocabulary.attributeName(String(text[..<equals]))
        try draft.setAttribute(name, to: String(text[text.index(after: equals)...]))
      }
      return try draft.row()
    }
  }
}
