package import ArgumentParser
import Glibc
import Logging

/// The entry point of a program: parses the arguments, runs the command and converts an error into a message and an
/// exit status.
package enum CommandRunner {
  /// Runs the command in the arguments of this process and ends the process with its exit status.
  ///
  /// - Parameter root: the root command of the program; all other commands are below it.
  package static func main(_ root: any ParsableCommand.Type) async -> Never {
    // If the reader of standard output is gone, write(2) must fail. By default, SIGPIPE would kill the process, perhaps
    // in the middle of a change in Redis.
    signal(SIGPIPE, SIG_IGN)
    // Block the signals before a second thread exists. They stay blocked until the command is known, because the
    // command may handle them.
    let former = ProcessSignals.block()
    let status = await run(GlobalArguments.moved(Array(CommandLine.arguments.dropFirst())), of: root, former)
    end(status)
  }

  /// Ends the process with a message on standard error, from any thread.
  package static func end(_ error: CommandError, json isJSON: Bool) -> Never {
    StandardError.write(error.report(json: isJSON))
    end(error.code.exitStatus)
  }

  private static func end(_ status: Int32) -> Never {
    StandardError.flush()
    // exit(3) would run the destructors of libraries while other threads still use these libraries. In a test with
    // exit(3), one of 2,000 processes that were stopped at random moments crashed in OpenSSL. All output is already
    // written.
    _exit(status)
  }

  /// Parses the arguments and runs the command.
  ///
  /// - Parameter former: the signal mask at the start of the process.
  /// - Returns: the exit status.
  private static func run(
    _ arguments: [String], of root: any ParsableCommand.Type, _ former: sigset_t
  ) async -> Int32 {
    var command: any ParsableCommand
    do {
      command = try root.parseAsRoot(arguments)
    } catch {
      ProcessSignals.release(former)
      return refuse(error, of: root, arguments: arguments, json: arguments.contains("--json"))
    }
    if let command = command as? any LongRunningCommand {
      ProcessSignals.handle(type(of: command).signals)
      StandardError.detach()
    }
    ProcessSignals.release(former)
    var isJSON = false
    if let command = command as? any CarillonCommand {
      isJSON = command.global.json
      LogSettings.shared.use(isJSON: isJSON, level: command.global.logLevel)
      LoggingSystem.bootstrap { LineLogHandler(label: $0) }
    }
    do {
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
      return 0
    } catch let status as ExitCode {
      // The command has already printed everything.
      return status.rawValue
    } catch let error as FileError where error.isBrokenPipe {
      // `carillon results export … | head`: the reader has closed the pipe.
      return CommandError.Code.failed.exitStatus
    } catch  where root.exitCode(for: error) == .success {
      // A command without subcommand prints its help.
      return refuse(error, of: root, arguments: arguments, json: isJSON)
    } catch {
      let failure = CommandError(error)
      StandardError.write(failure.report(json: isJSON))
      return failure.code.exitStatus
    }
  }

  /// Handles arguments that can't be parsed or that ask for help.
  private static func refuse(
    _ error: any Error, of root: any ParsableCommand.Type, arguments: [String], json isJSON: Bool
  ) -> Int32 {
    guard root.exitCode(for: error) != .success else {
      try? StandardOutput.printLine(root.fullMessage(for: error))
      return 0
    }
    let failure = UsageError.commandError(for: error, of: root, arguments: arguments)
    StandardError.write(failure.report(json: isJSON))
    return failure.code.exitStatus
  }
}
