import APNsSimulator
import ArgumentParser
import CommandSupport

/// Options of `carillon simulate` for the behaviour of the simulator and for the keys that it accepts.
struct SimulatorOptions: ParsableArguments {
  @Option(help: "production or sandbox. The simulator refuses tokens, keys and certificates of the other environment.")
  var environment = SimulatorEnvironment.production

  @Option(help: "A file with more signing keys: a JSON list of keyID, teamID, file, topics, environment, related.")
  var keys: String?

  @Option(help: "A file with settings (knobs) as a JSON object, such as {\"refusedShare\":0.05}.", completion: .file())
  var knobs: String?

  @Option(name: .customLong("knob"), help: "NAME=VALUE with a JSON value; overrides the file. Can be repeated.")
  var assignments: [String] = []

  @Option(
    help: "A file with knobs that change over time: a JSON list of objects with at, every, knobs, action.",
    completion: .file())
  var timeline: String?

  @Option(help: "The seed of all random values; the same seed gives the same identifiers and delays.")
  var seed: UInt64?

  func validate() throws {
    var knobs = SimulatorKnobs()
    for assignment in assignments {
      do {
        try knobs.apply(assignment: assignment)
      } catch {
        throw ValidationError("--knob \(assignment): \(error)")
      }
    }
  }

  /// Changes only the settings for which an option is given.
  func apply(to configuration: inout SimulatorConfiguration) throws {
    configuration.environment = environment
    if let seed { configuration.seed = seed }
    if let keys { configuration.keys += try SimulatorKeyFile.load(keys) }
    if environment == .sandbox { configuration.knobs.sendsUniqueID = true }
    if let knobs { try apply(file: knobs, to: &configuration.knobs) }
    for assignment in assignments { try configuration.knobs.apply(assignment: assignment) }
  }

  /// Returns the timeline that the simulator plays; `nil` if the option is missing.
  func loadTimeline() throws -> SimulatorTimeline? {
    guard let timeline else { return nil }
    let hint = #"a timeline looks like: [{"at":5,"knobs":{"streamLimit":1}},{"at":10,"action":"goAway"}]"#
    do {
      return try SimulatorTimeline(json: try InputFile.contents(timeline, limit: 1 << 20))
    } catch let error as FileError {
      throw CommandError(.input, "\(error.path): \(error.reason)", hint: hint)
    } catch {
      throw CommandError(.input, "\(timeline): \(error)", hint: hint)
    }
  }

  private func apply(file: String, to knobs: inout SimulatorKnobs) throws {
    let text: [UInt8]
    do {
      text = try InputFile.contents(file, limit: 1 << 20)
    } catch {
      throw CommandError(.input, "\(error.path): \(error.reason)", hint: "--knobs needs a file with a JSON object")
    }
    do {
      try knobs.apply(json: text)
    } catch {
      throw CommandError(.input, "\(file): \(error)", hint: "GET /knobs of the control API lists all knobs")
    }
  }
}
