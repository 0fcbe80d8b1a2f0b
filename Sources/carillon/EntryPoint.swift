import ArgumentParser
import Glibc
import Logging

/// The frame of every command: parses, runs, and turns what went wrong into a message and an exit status.
@main
struct EntryPoint {
  static func main() async {
    // A reader of our output that went away must be an error of write(2), not a death in the middle of a commit.
    signal(SIGPIPE, SIG_IGN)
    exit(await run(GlobalArguments.moved(Array(CommandLine.arguments.dropFirst()))))
  }

  /// Runs the command that the arguments name.
  ///
  /// - Returns: the exit status.
  static func run(_ arguments: [String]) async -> Int32 {
    var command: any ParsableCommand
    do {
      command = try Carillon.parseAsRoot(arguments)
    } catch {
      return refuse(error, arguments: arguments, json: arguments.contains("--json"))
    }
    var isJSON = false
    if let command = command as? any CarillonCommand {
      isJSON = command.global.json
      let level = command.global.logLevel
      LoggingSystem.bootstrap { [isJSON] in LineLogHandler(label: $0, level: level, isJSON: isJSON) }
    }
    do {
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
      return 0
    } catch let status as ExitCode {
      // The command has said everything itself.
      return status.rawValue
    } catch let error as FileError where error.isBrokenPipe {
      // `carillon results export … | head`: whoever reads has had enough.
      return CommandError.Code.failed.exitStatus
    } catch  where Carillon.exitCode(for: error) == .success {
      // A command without subcommand prints its help.
      return refuse(error, arguments: arguments, json: isJSON)
    } catch {
      let failure = CommandError(error)
      StandardError.write(failure.report(json: isJSON))
      return failure.code.exitStatus
    }
  }

  /// Arguments that don't parse, or that ask for help.
  private static func refuse(_ error: any Error, arguments: [String], json isJSON: Bool) -> Int32 {
    guard Carillon.exitCode(for: error) != .success else {
      try? StandardOutput.printLine(Carillon.fullMessage(for: error))
      return 0
    }
    let failure = UsageError.commandError(for: error, arguments: arguments)
    StandardError.write(failure.report(json: isJSON))
    return failure.code.exitStatus
  }
}
