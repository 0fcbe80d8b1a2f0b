import Redis
import TestKit
import Testing

@Suite struct RedisServerErrorTests {
  @Test(arguments: [
    ("READONLY You can't write", RedisServerError.Code.readOnly, "You can't write"),
    ("NOSCRIPT No matching script.", .init(rawValue: "NOSCRIPT"), "No matching script."),
    ("MOVED 3999 127.0.0.1:6381", .moved, "3999 127.0.0.1:6381"),
    ("OOM", .outOfMemory, ""), ("EXECABORT x", .init(rawValue: "EXECABORT"), "x"),
    (
      "ERR The user executing the script can't run this command or subcommand script: 9b, on @user_script:16.",
      .noPermission,
      "The user executing the script can't run this command or subcommand script: 9b, on @user_script:16."
    ),
    (
      "ERR Error running script (call to f_9b): @user_script:1: The user executing the script can't run this command",
      .noPermission, "The user executing the script can't run this command"
    ),
    (
      "ERR Error running script (call to f_9b): @user_script:11: WRONGTYPE Operation against a key",
      .wrongType, "Operation against a key"
    ),
    (
      "ERR Error running script (call to f_9b): @user_script:1: @user_script: 1: -OOM command not allowed",
      .outOfMemory, "command not allowed"
    ),
    (
      "ERR Error running script (call to f_9b): @user_script:3: attempt to index a nil value", .generic,
      "Error running script (call to f_9b): @user_script:3: attempt to index a nil value"
    ),
    ("unknown thing", .generic, "unknown thing"), ("", .generic, ""),
  ])
  func firstWordIsTheCode(line: String, code: RedisServerError.Code, message: String) {
    let error = RedisServerError(line: line)
    expect(error.code == code && error.message == message)
  }
}
