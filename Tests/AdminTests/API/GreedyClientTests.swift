import Foundation
import TestKit
import TestSupport
import Testing

/// Limits of the resources that clients can use in a running `carillon admin`. A modest client gets its answers at the
/// same time.
@Suite(.timeLimit(.minutes(6)), .takesTurns) struct GreedyClientTests {
  /// Starts `carillon admin` with a token of all scopes.
  private func admin(
    _ world: inout CarillonWorld, _ arguments: [String]? = nil
  ) async throws -> (process: ChildProcess, url: String, token: String) {
    world.environment["CARILLON_ADMIN_LISTEN"] = "127.0.0.1:0"
    world.environment["CARILLON_ADMIN_TOKEN_FILE"] = world.folder.path("admin.token")
    let token = try await world.succeed("admin", "token", "boss", "--scope", "admin")
    let process =
      if let arguments {
        try await ChildProcess.start(arguments[0], Array(arguments.dropFirst()), environment: world.environment)
      } else {
        try await world.start("admin", "--json")
      }
    return (process, try await process.listeningURL(), token.trimmingCharacters(in: .newlines))
  }

  private func port(_ url: String) throws -> Int { try #require(url.split(separator: ":").last.flatMap { Int($0) }) }

  @Test("memory stays constant with 1,000 idle connections, unread results, one byte a second and endless bodies")
  func greed() async throws {
    var world = try await CarillonWorld(engine: "native")
    try await world.startSimulator()
    // Tokens are long, so that a result is larger than all buffers of a connection.
    let tokens = (0..<20_000).map { CarillonWorld.token($0) + String(repeating: "ab", count: 168) }
    let rows = tokens.enumerated().map { "u\($0),\($1)\n" }
    let file = try world.folder.write("devices.csv", "user,token\n" + rows.joined())
    try await world.succeed("devices", "import", file)
    try await world.submit("big")
    try await world.drain()
    let (process, url, token) = try await admin(&world)
    let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Clients/greedy.py").path
    let output = try await ChildProcess.run(
      "python3", [script, String(port(url)), String(process.processIdentifier), token, "big"])
    try #require(output.exit == .status(0), "\(output.standardOutput)\(output.standardError)")
    print("greedy clients: \(output.standardOutput)", terminator: "")
    let figures = try JSONObject(output.standardOutput)
    func figure(_ name: String) throws -> Double { try #require(figures.double(name), "\(name)") }
    expect(try figure("result") > 8_000_000)
    // The limits are 15 s without a byte and 30 s for a whole request. The server checks both every few seconds.
    expect(try figure("idle") < 40)
    expect(try figure("streams") < 40)
    expect(try figure("headers") < 60)
    expect(try figure("bodies") < 60)
    // All bodies together can have 16 MB, and each stream 256 kB.
    expect(try figure("peak") - figure("before") < 48 * 1024)
    expect(try figure("after") - figure("before") < 32 * 1024)
    // The server answers a new client immediately; 3 s allow for a slow machine.
    expect(try figure("honest") < 3)
    expect(await process.terminate(), is: .status(0))
  }

  @Test("without a free descriptor the server accepts no connection, and continues when one is free")
  func outOfDescriptors() async throws {
    var world = try await CarillonWorld()
    let (process, url, _) = try await admin(
      &world, ["sh", "-c", "ulimit -n 40; exec \"$0\" \"$@\"", CarillonCommand.path, "admin", "--json"])
    let port = try port(url)
    var clients: [RawClient] = []
    for _ in 0..<80 { clients.append(try RawClient(port: port)) }
    // The server accepted as many connections as it had descriptors. It answers the first client but not the last one.
    await clients[0].send("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
    expect(await clients[0].read(until: "ok\n").contains("200 OK"))
    // Descriptors above the limit are inherited from the test process.
    let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.processIdentifier)/fd")
      .count { Int($0).map { $0 < 40 } ?? false }
    expect((30...40).contains(open), "\(open) descriptors are open")
    let last = try #require(clients.last)
    await last.send("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
    clients = []
    expect(await last.read(until: "ok\n").contains("200 OK"))
    for _ in 0..<3 { expect(try await Curl.get(url + "/readyz").status, is: 200) }
    expect(await process.terminate(), is: .status(0))
  }

  @Test(
    "with a certificate it speaks TLS and nothing else, and a client that does not know the certificate's maker is not fooled"
  )
  func tls() async throws {
    var world = try await CarillonWorld()
    let (certificate, key) = (world.folder.path("admin.pem"), world.folder.path("admin.key"))
    let made = try await ChildProcess.run(
      "openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
        "/CN=carillon admin", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate,
      ])
    try #require(made.exit == .status(0), "\(made.standardError)")
    world.environment["CARILLON_ADMIN_TLS_CERTIFICATE"] = certificate
    world.environment["CARILLON_ADMIN_TLS_KEY"] = key
    let (process, url, token) = try await admin(&world)
    expect(url.hasPrefix("https://127.0.0.1:"))
    let me = try await Curl.get(
      url + "/api/v1/me", "--cacert", certificate, "--header", "Authorization: Bearer \(token)")
    expect(me == (200, #"{"name":"boss","scopes":["admin"]}"#))
    let body = try await Curl.get(
      url + "/api/v1/segments/vip/add", "--cacert", certificate, "--header", "Authorization: Bearer \(token)",
      "--data", "{\"users\":[\((0..<9000).map { "\"u\($0)\"" }.joined(separator: ","))]}")
    expect(body.status, is: 200, "\(body)")
    for (options, says) in [
      ([url + "/livez"], "certificate"), (["--insecure", "--tls-max", "1.1", url + "/livez"], "SSL"),
      ([url.replacing("https", with: "http") + "/livez"], "curl"),
    ] {
      let refused = try await ChildProcess.run("curl", ["--silent", "--show-error", "--fail"] + options)
      expect(refused.exit != .status(0) && refused.standardError.contains(says), "\(options): \(refused)")
    }
    // Silent clients delay no other client.
    let silent = try (0..<50).map { _ in try RawClient(port: try port(url)) }
    expect(try await Curl.get(url + "/livez", "--cacert", certificate).status, is: 200)
    withExtendedLifetime(silent) {}
    expect(await process.terminate(), is: .status(0))

    // The command refuses an unusable TLS file at its start.
    world.environment["CARILLON_ADMIN_TLS_KEY"] = world.folder.path("none.key")
    let missing = try await world.run("admin")
    expect(missing.exit == .status(65) && missing.standardError.contains("admin.tls.key"), "\(missing)")
    let other = try world.folder.write("other.key", "no key")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: other)
    world.environment["CARILLON_ADMIN_TLS_KEY"] = other
    let unusable = try await world.run("admin")
    expect(unusable.exit == .status(65) && unusable.standardError.contains("admin.tls: "), "\(unusable)")
    expect(unusable.standardError.contains("print the same") && !unusable.standardError.contains("--listen"))
  }
}
