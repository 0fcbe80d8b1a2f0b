import Synchronization
import TestKit
import TestSupport
import Testing

@testable import Redis

/// A password file, which may change while connections are open.
@Suite struct PasswordFileTests {
  private func options(_ file: String) -> RedisOptions {
    var options = RedisOptions.unhurried(backoff: Backoff(base: .milliseconds(1), cap: .milliseconds(20)))
    options.passwordFile = file
    return options
  }

  @Test func passwordIsReadAgainForEveryConnection() async throws {
    let server = try await RedisServer.start()
    try await server.command("acl", "setuser", "app", "on", ">old", "~*", "+@all")
    let folder = try ScratchFolder()
    let file = try folder.writeSecret("password", "old\n")
    var url = try RedisURL(server.url)
    url.user = "app"
    let client = RedisClient(url: url, options: options(file))
    expect(try await client.command("ACL", "WHOAMI").get().string, is: "app")

    // An open connection stays logged in. The next one uses the new password.
    try await server.command("acl", "setuser", "app", "resetpass", ">new")
    try folder.writeSecret("password", "new\n")
    let before = try await client.connectionNumber()
    try await server.command("client", "kill", "user", "app")
    expect(try await client.command("ACL", "WHOAMI").get().string, is: "app")
    expect(try await client.connectionNumber() > before)

    // While the file has the old password, a call fails immediately with an error. After the file changes, no other
    // step is needed.
    try await server.command("acl", "setuser", "app", "resetpass", ">newer")
    try await server.command("client", "kill", "user", "app")
    let error = await #expect(throws: RedisError.self) {
      while true { _ = try await client.command("PING") }
    }
    expect(error?.code == .authentication || error?.code == .closed)
    try folder.writeSecret("password", "newer\n")
    try await poll(until: "the new password is used", every: .milliseconds(1)) {
      (try? await client.command("ACL", "WHOAMI").get().string) == "app"
    }
    await client.close()
    await server.stop()
  }

  @Test func passwordChangedDuringTheLoginIsTriedImmediately() async throws {
    let folder = try ScratchFolder()
    let file = try folder.writeSecret("password", "old\n")
    let logins = Mutex(0)
    let server = try await FakeServer([
      .answer {
        guard
          logins.withLock({
            $0 += 1; return $0
          }) == 1
        else {
          return "+OK\r\n+OK\r\n$21\r\nredis_version:7.0.15\n\r\n"
        }
        _ = try? folder.writeSecret("password", "new\n")
        return "-WRONGPASS invalid username-password pair or user is disabled.\r\n+OK\r\n+OK\r\n"
      }
    ])
    try await RedisConnection.connect(to: RedisURL(host: "127.0.0.1", port: server.port), options: options(file))
      .close()
    expect(logins.withLock { $0 }, is: 2)
  }

  @Test func passwordThatStaysWrongIsTriedOnce() async throws {
    let server = try await RedisServer.start(password: "right")
    let folder = try ScratchFolder()
    let file = try folder.writeSecret("password", "wrong\n")
    let error = await #expect(throws: RedisError.self) {
      try await RedisConnection.connect(to: RedisURL(host: "127.0.0.1", port: server.port), options: options(file))
        .close()
    }
    expect(error?.code, is: .authentication)
    expect(try await server.command("info", "stats").contains("total_connections_received:2"))
    await server.stop()
  }

  @Test func fileThatCannotBeUsedIsNamed() async throws {
    let folder = try ScratchFolder()
    let files = [
      (folder.path("none"), "No such file"), (try folder.write("exposed", "x"), "chmod 600"),
      (try folder.writeSecret("empty", "\n"), "is empty"),
    ]
    for (file, says) in files {
      let error = await #expect(throws: RedisError.self) {
        try await RedisConnection.connect(to: RedisURL(host: "127.0.0.1"), options: options(file)).close()
      }
      expect(error?.code == .unusableFile && error?.message.contains(file) == true)
      expect("\(String(describing: error))".contains(says))
    }
  }

  @Test func connectionThatMustLogInAgainIsReplaced() async throws {
    let server = try await FakeServer([
      FakeServer.welcome, .send("-NOAUTH Authentication required.\r\n"),
    ])
    let client = RedisClient(url: RedisURL(host: "127.0.0.1", port: server.port), options: .unhurried())
    let before = try await client.connectionNumber()
    expect(try await client.command("PING").error?.code, is: .noAuthentication)
    expect(try await client.connectionNumber() > before)
    await client.close()
  }
}
