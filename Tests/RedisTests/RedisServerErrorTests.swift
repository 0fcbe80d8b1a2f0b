import Redis
import Testing

@Suite struct RedisServerErrorTests {
  @Test(arguments: [
    ("READONLY You can't write", RedisServerError.Code.readOnly, "You can't write"),
    ("NOSCRIPT No matching script.", .noScript, "No matching script."),
    ("MOVED 3999 127.0.0.1:6381", .moved, "3999 127.0.0.1:6381"),
    ("OOM", .outOfMemory, ""), ("EXECABORT x", .init(rawValue: "EXECABORT"), "x"),
    ("unknown thing", .generic, "unknown thing"), ("", .generic, ""),
  ])
  func firstWordIsTheCode(line: String, code: RedisServerError.Code, message: String) {
    let error = RedisServerError(line: line)
    #expect(error.code == code && error.message == message)
  }
}
