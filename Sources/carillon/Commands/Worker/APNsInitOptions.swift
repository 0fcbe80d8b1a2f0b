import ArgumentParser

/// The options of `carillon init` for the settings of an app for APNs.
struct APNsInitOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The app's bundle id.", valueName: "id")) var topic: String?
  @Option(help: "production or sandbox.") var environment: String?
  @Option(help: ArgumentHelp("The signing key, a .p8 file.", valueName: "file")) var keyFile: String?
  @Option(help: ArgumentHelp("The key's id (default: taken from the file's name).", valueName: "id")) var keyID: String?
  @Option(help: ArgumentHelp("The team's id at Apple.", valueName: "id")) var teamID: String?
  @Option(help: ArgumentHelp("A push certificate instead of a key.", valueName: "file")) var certificate: String?
  @Option(help: ArgumentHelp("A file with the certificate's passphrase in its first line.", valueName: "file"))
  var passphraseFile: String?

  /// The values of the given options, by the names of the options.
  var values: [String: String] {
    [
      "topic": topic, "environment": environment, "key-file": keyFile, "key-id": keyID, "team-id": teamID,
      "certificate": certificate, "passphrase-file": passphraseFile,
    ].compactMapValues { $0 }
  }
}
