public import APNsSimulator
public import ArgumentParser
import CommandSupport
public import PushCore
import ServiceTools

// This file lets ArgumentParser read types of other modules from the command line. These modules do not import
// ArgumentParser, so the conformances are here.

extension DeviceRowReader.Format: ExpressibleByArgument {}

extension ForeignSystem: ExpressibleByArgument {}

extension SimulatorKnobs.UnknownTokens: ExpressibleByArgument {
  public static var allValueStrings: [String] { [Self.accept, .bad].map(\.rawValue) }
}

extension SimulatorEnvironment: ExpressibleByArgument {}

/// Name of a push type of any service.
struct PushTypeName: ExpressibleByArgument {
  let name: String

  init?(argument: String) {
    guard Self.allValueStrings.contains(argument) else { return nil }
    name = argument
  }

  static var allValueStrings: [String] { KnownServices.all.tools.flatMap(\.pushTypes) }
  static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }
}

extension Outcome: ExpressibleByArgument {
  public init?(argument: String) { self.init(name: argument) }

  public static var allValueStrings: [String] { allCases.map(\.name) }
}
