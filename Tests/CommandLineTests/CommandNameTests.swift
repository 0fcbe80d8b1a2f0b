import ArgumentParser
import TestKit
import Testing

@testable import carillon

struct CommandNameTests {
  /// ArgumentParser derives a missing name from the name of the type, for all commands at each start of the program.
  @Test func everyCommandStatesItsName() {
    expect(Self.unnamed(Carillon.self).isEmpty)
  }

  private static func unnamed(_ command: any ParsableCommand.Type) -> [String] {
    let configuration = command.configuration
    return (configuration.commandName == nil ? ["\(command)"] : []) + configuration.subcommands.flatMap(unnamed)
  }
}
