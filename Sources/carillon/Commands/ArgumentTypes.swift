import APNs
public import APNsSimulator
public import ArgumentParser
public import PushCore

// Values of other modules as the command line spells them. Neither module knows of the other, so the conformances can
// only stand here.

extension DeviceRowReader.Format: ExpressibleByArgument {}

extension ForeignSystem: ExpressibleByArgument {}

extension SimulatorKnobs.UnknownTokens: ExpressibleByArgument {
  public static var allValueStrings: [String] { [Self.accept, .bad].map(\.rawValue) }
}

extension SimulatorEnvironment: ExpressibleByArgument {}

extension PushType: ExpressibleByArgument {}

extension Outcome: ExpressibleByArgument {
  public init?(argument: String) { self.init(name: argument) }

  public static var allValueStrings: [String] { allCases.map(\.name) }
}
