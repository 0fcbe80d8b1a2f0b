import ArgumentParser
import PushCore

/// `carillon devices`.
struct DevicesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "devices",
    abstract: "Brings devices in and out, and shows them.",
    subcommands: [Import.self, Export.self, Register.self, Unregister.self, Show.self])

  struct Import: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Imports devices from CSV or NDJSON.",
      discussion: """
        Columns: user and token, and any of app, environment, locale, timezone, appVersion, osVersion, registeredAt \
        (RFC 3339 or milliseconds), lastSeen. Any other column is an attribute of the user. A token belongs to one \
        user: importing it for another moves it.

        A bad row is reported with its line and skipped; the good ones are in, and the exit status is 65.

        Examples:
          carillon devices import devices.csv
          carillon devices import devices.ndjson --app news
          zcat devices.csv.gz | carillon devices import - --format csv
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The file; - is standard input.", completion: .file(extensions: ["csv", "ndjson"]))
    var file: String
    @Option(help: "csv or ndjson; by the file's name unless given.")
    var format: DeviceRowReader.Format?
    @Option(help: "The app of rows that name none; the only one of the configuration unless given.")
    var app: String?
  }

  struct Export: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Writes all devices to standard output, as import reads them.",
      discussion: """
        Examples:
          carillon devices export > devices.csv
          carillon devices export --format ndjson | gzip > devices.ndjson.gz
        """)

    @OptionGroup var global: GlobalOptions
    @Option(help: "csv or ndjson.")
    var format: DeviceRowReader.Format = .csv
  }

  struct Register: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Registers one device, or moves it to another user.",
      discussion: """
        Example:
          carillon devices register --user 4711 --token 0f2c… --locale de --attribute name=Ada
        """)

    @OptionGroup var global: GlobalOptions
    @Option(help: "The user's id.") var user: String
    @Option(help: "The device token, hex.") var token: String
    @Option(help: "The app; the only one of the configuration unless given.") var app: String?
    @Option(help: "production or sandbox; the app's unless given.") var environment: String?
    @Option(help: "Such as en or zh-Hans-CN.") var locale: String?
    @Option(help: "An IANA name, such as Europe/Berlin.") var timezone: String?
    @Option(help: "The version of the app.") var appVersion: String?
    @Option(help: "The version of the system.") var osVersion: String?
    @Option(help: "RFC 3339 or milliseconds; now unless given.") var registeredAt: String?
    @Option(help: ArgumentHelp("An attribute of the user.", valueName: "name=value")) var attribute: [String] = []
  }

  struct Unregister: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Removes one device; exits 1 when it was not there.",
      discussion: """
        Example:
          carillon devices unregister --token 0f2c…
        """)

    @OptionGroup var global: GlobalOptions
    @Option(help: "The device token, hex.") var token: String
  }

  struct Show: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows a user with attributes, segments and devices; exits 1 when there is none.",
      discussion: """
        Example:
          carillon devices show 4711 --json
        """)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The user's id.") var user: String
  }
}
