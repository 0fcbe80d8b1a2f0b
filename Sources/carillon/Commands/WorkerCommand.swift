import ArgumentParser

/// `carillon worker`.
struct WorkerCommand: CarillonCommand {
  static let configuration = CommandConfiguration(
    commandName: "worker",
    abstract: "Runs a worker: takes campaigns from the queue and sends them.",
    discussion: """
      Any number of workers can run, on any number of machines. SIGTERM or SIGINT: it takes nothing new, finishes what \
      is in flight, records it and exits 0, within worker.deadline. A worker that is killed loses nothing: another \
      takes over what it held.

      Examples:
        carillon worker
        carillon worker --name east-1 --json
        carillon worker --drain
      """)

  @OptionGroup var global: GlobalOptions

  @Flag(help: "Exit when no campaign is left, scheduled ones aside.")
  var drain = false

  @Option(help: "What the worker is called in logs and lists; host and process id unless given.")
  var name: String?
}
