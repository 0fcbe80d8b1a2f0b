import APNs
import CommandSupport
import Foundation
import Glibc
import PushCore
import PushWorker

/// The switches with which tests break a worker, read from its environment; see `Tests/README.md`. A release build has
/// none of them.
enum FaultEnvironment {
  /// `CARILLON_FAULT_VERSION`: what the program says that it is; `nil` for the truth.
  static var version: String? {
    #if DEBUG
      ProcessInfo.processInfo.environment["CARILLON_FAULT_VERSION"]
    #else
      nil
    #endif
  }

  /// `CARILLON_FAULT_KILL` (`moment` or `moment:pass`), `CARILLON_FAULT_POISON` (token in hex), `CARILLON_FAULT_MUTANT`.
  ///
  /// - Throws: a switch that is misspelt would let its test pass for nothing.
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
        guard let token = APNsService().token(text) else { throw unknown("CARILLON_FAULT_POISON", ["a token in hex"]) }
        switches.poison = token.bytes
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

  private static func unknown(_ name: String, _ known: [String]) -> CommandError {
    CommandError(.usage, "\(name) can't be read", hint: "known are: \(known.joined(separator: ", "))")
  }
}
