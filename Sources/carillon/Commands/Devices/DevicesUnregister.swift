import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension DevicesCommand {
  /// The command `carillon devices unregister`.
  struct Unregister: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "unregister", abstract: "Remove a device. Exits with 1 if there is no such device.",
      discussion: """
        Example:
          carillon devices unregister --token 0f2c…
        """)

    static let effect = Effect.changes([.deviceUnregister])

    @OptionGroup var global: GlobalOptions
    @Option(help: "The device token, in the form of its push service.") var token: String
    @Option(help: "The push service (default: apns).") var service: String?

    func run() async throws {
      let service = try PushServices.known.named(service)
      let token = try service.token(argument: token)
      let text = service.text(of: token)
      let store = try await global.openStore(changing: true)
      guard try await store.registry.unregister([token], of: service, at: store.time() / 1000) == [true] else {
        throw CommandError(.notFound, "no device has the token \(text)", hint: "it may have been pruned already")
      }
      await AuditTrail(store).record(.deviceUnregister, devices: 1, of: nil, by: .commandLine)
      guard global.json else { return try StandardOutput.printLine("unregistered \(text)") }
      var json = JSONWriter()
      json.beginObject()
      json.member("token", text)
      json.endObject()
      try StandardOutput.printLine(json.text)
    }
  }
}
