import CommandSupport
import EventLoop
import Foundation
import Glibc
import PushCore
import PushWorker

/// The switches with which tests break a worker, read from its environment; see `Tests/Pages/faults.md`. A release
/// build does not contain these switches.
enum FaultEnvironment {
  /// The version in `CARILLON_FAULT_VERSION`, which the program then reports; `nil` to report its real version.
  static var version: String? {
    #if DEBUG
      ProcessInfo.processInfo.environment["CARILLON_FAULT_VERSION"]
    #else
      nil
    #endif
  }

  /// Returns the switches in `CARILLON_FAULT_KILL` (`moment` or `moment:pass`), `CARILLON_FAULT_POISON` (token in hex)
  /// and `CARILLON_FAULT_MUTANT`.
  ///
  /// - Throws: an error for a misspelt switch. Otherwise, its test would pass without the fault.
  static func switches() throws -> FaultSwitches {
    #if DEBUG
      let environment = ProcessInfo.processInfo.environment
      var switches = FaultSwitches { kill(getpid(), SIGKILL) }
      if let text = environment["CARILLON_FAULT_KILL"] {
        let parts = text.split(separator: ":")
        guard let moment = parts.first.flatMap({ FaultSwitches.Moment(rawValue: String($0)) }),
          let pass = parts.count == 1 ? 1 : Int(parts[1])
        else { throw unknown("CARILLON_FAULT_KILL", FaultSwitches.Moment.allCases.map(\.rawValue)) }
        switches.moment = moment
        switches.pass = pass
      }
      if let text = environment["CARILLON_FAULT_POISON"] {
        guard let token = PushServices.known.standard.token(text) else {
          throw unknown("CARILLON_FAULT_POISON", ["a token in hex"])
        }
        switches.poison = token.bytes
      }
      if let text = environment["CARILLON_FAULT_BLOCK"], Blocked(rawValue: text) == nil {
        throw unknown("CARILLON_FAULT_BLOCK", Blocked.allCases.map(\.rawValue))
      }
      if let text = environment["CARILLON_FAULT_MUTANT"] {
        guard let mutant = FaultSwitches.Mutant(rawValue: text) else {
          throw unknown("CARILLON_FAULT_MUTANT", FaultSwitches.Mutant.allCases.map(\.rawValue))
        }
        switches.mutant = mutant
      }
      return switches
    #else
      return FaultSwitches()
    #endif
  }

  #if DEBUG
    /// A part of a process that a test blocks, to check that `/livez` reports this, or that the process still ends.
    enum Blocked: String, CaseIterable {
      /// The worker's event loop.
      case loop
      /// The event loop of the connection to Redis that waits for jobs.
      case redis
      /// Swift's executor: all of its threads.
      case executor
      /// The stop of the simulator.
      case stop
    }
  #endif

  /// The time limit of `/livez` while a part is blocked: `nil` for the program's default.
  static var livenessLimit: Duration? {
    #if DEBUG
      ProcessInfo.processInfo.environment["CARILLON_FAULT_BLOCK"] == nil ? nil : .seconds(1)
    #else
      nil
    #endif
  }

  /// `CARILLON_FAULT_BLOCK` (`loop`, `redis`, `executor`): blocks this part permanently. Called after the command has
  /// started.
  static func block(loop: EventLoop, redis: EventLoop) {
    #if DEBUG
      guard let blocked = ProcessInfo.processInfo.environment["CARILLON_FAULT_BLOCK"].flatMap(Blocked.init) else {
        return
      }
      let stop: @Sendable () -> Void = { while true { sleep(.max) } }
      switch blocked {
      case .loop: loop.execute(stop)
      case .redis: redis.execute(stop)
      // The number of tasks is twice the number of the executor's threads.
      case .executor: for _ in 0..<2 * ProcessInfo.processInfo.processorCount { Task.detached { stop() } }
      case .stop: break
      }
    #endif
  }

  /// `CARILLON_FAULT_BLOCK=stop`: blocks the thread that stops the process.
  static func blockStop() {
    #if DEBUG
      guard ProcessInfo.processInfo.environment["CARILLON_FAULT_BLOCK"] == Blocked.stop.rawValue else { return }
      while true { sleep(.max) }
    #endif
  }

  private static func unknown(_ name: String, _ known: [String]) -> CommandError {
    CommandError(.usage, "\(name) can't be read", hint: "known are: \(known.joined(separator: ", "))")
  }
}
