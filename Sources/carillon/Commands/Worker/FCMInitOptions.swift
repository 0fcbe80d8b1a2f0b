import ArgumentParser

/// The options of `carillon init` for the settings of an app for FCM.
struct FCMInitOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The JSON key of a service account, for fcm.", valueName: "file"))
  var serviceAccountFile: String?
  @Option(help: ArgumentHelp("The Firebase project (default: that of the service account).", valueName: "id"))
  var project: String?
  @Flag(help: "Use the metadata server of Google Cloud instead of a key.") var metadataServer = false

  /// The values of the given options, by the names of the options.
  var values: [String: String] {
    [
      "service-account-file": serviceAccountFile, "project": project,
      "metadata-server": metadataServer ? "true" : nil,
    ].compactMapValues { $0 }
  }
}
