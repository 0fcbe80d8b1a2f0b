import ArgumentParser

/// `carillon simulate`.
struct SimulateCommand: CarillonCommand {
  static let configuration = CommandConfiguration(
    commandName: "simulate",
    abstract: "Runs an APNs of your own, on this machine.",
    discussion: """
      --init writes what it needs into a folder: certificates, a signing key, and a carillon.yaml that points the app \
      news at it. SIGTERM or SIGINT: it prints what it counted and exits 0.

      Examples:
        carillon simulate --init sim
        carillon simulate --directory sim --latency-ms 20
        carillon --config sim/carillon.yaml send --app news --token 00ff '{"aps":{"alert":"Hello"}}'
      """)

  @OptionGroup var global: GlobalOptions
  @Option(name: .customLong("init"), help: "Write a folder for a simulator, and exit.", completion: .directory)
  var initialise: String?
  @Option(help: "The folder that --init wrote.", completion: .directory) var directory: String?
  @Option(help: "The port of APNs; 0 picks one.") var port: UInt16?
  @Option(help: "The port of the control API; 0 picks one.") var controlPort: UInt16?
  @Option(help: "Milliseconds before every answer.") var latencyMs: Int = 0

  func validate() throws {
    guard (initialise == nil) != (directory == nil) else {
      throw ValidationError("Give either --init DIR or --directory DIR.")
    }
    guard (0...60_000).contains(latencyMs) else { throw ValidationError("--latency-ms must be 0 to 60000.") }
  }
}
