import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore

extension DevicesCommand {
  /// `carillon devices unregister`.
  struct Unregister: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Removes one device; exits 1 when it was not there.",
      discussion: """
        Example:
          carillon devices unregister --token 0f2c…
        """)

    @OptionGroup var global: GlobalOptions
    @Option(help: "The device token, hex.") var token: String

    func run() async throws {
      let token = try DeviceToken(argument: token)
      let store = try await global.openStore()
      guard try await store.unregister([token], at: store.time() / 1000) == [true] else {
        throw CommandError(.notFound, "nobody has the token \(token.hex)", hint: "it may have been pruned already")
      }
      guard global.json else { return try StandardOutput.printLine("unregistered \(token.hex)") }
      try StandardOutput.printLine(#"{"token":"\#(token.hex)"}"#)
    }
  }
}

extension DeviceToken {
  /// The value of `--token`.
  init(argument: String) throws(CommandError) {
    guard let token = DeviceToken(hex: argument) else {
      throw CommandError(
        .input, "--token: not hex of 1 to \(Self.maximumLength) bytes",
        hint: "a token is what the app got from registerForRemoteNotifications, as hex")
    }
    self = token
  }
}
