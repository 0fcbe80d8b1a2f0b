import ArgumentParser

/// `carillon send`.
struct SendCommand: CarillonCommand {
  static let configuration = CommandConfiguration(
    commandName: "send",
    abstract: "Sends one push and shows everything: headers, answer, and what the answer means.",
    discussion: """
      Exits 0 when APNs accepted it, 1 when it did not, 69 when it could not be reached. Nothing is written to Redis.

      Examples:
        carillon send --app news --token 0f2c… '{"aps":{"alert":"Hello"}}'
        carillon send --app news --token 0f2c… --push-type background payload.json
      """)

  @OptionGroup var global: GlobalOptions
  @Option(help: "An app of the configuration.") var app: String
  @Option(help: "The device token, hex.") var token: String
  @Argument(help: "The payload: JSON, the name of a file, or - for standard input.") var payload: String
  @Option(help: "alert, background, voip, …") var pushType = "alert"
  @Option(help: "10, 5 or 1; 10 unless given, 5 for background.") var priority: Int?
  @Option(help: "0, a duration such as 4h, or RFC 3339.") var expiration: String?
  @Option(help: "At most 64 bytes.") var collapseID: String?
}
