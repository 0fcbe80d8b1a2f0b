import Foundation
import PushCore
import TestKit
import TestSupport
import Testing

/// Table of invalid inputs. Each gives an error with the problem, the place and the hint, and none reaches Redis.
@Suite(.takesTurns) struct BadInputTests {
  /// An invalid job and the texts that its error contains.
  struct Case: Sendable, CustomTestStringConvertible {
    var job: String
    var says: [String]

    var testDescription: String { says[0] }
  }

  static let jobs = cases.map { Case(job: $0.job, says: $0.says) }

  private static let cases: [(job: String, says: [String])] = [
    ("", ["not valid JSON: line 1, column 1"]),
    (#"{"id": "a","#, ["not valid JSON: line 1, column"]),
    ("[1]", ["must be a JSON object, not an array"]),
    (CarillonWorld.job("a b"), ["id: 'a b' is not a campaign id", "1 to 64 of"]),
    (CarillonWorld.job("a", more: #","lnae":"bulk""#), ["lnae: unknown field", "did you mean 'lane'?"]),
    (CarillonWorld.job("a", more: #","lane":"slow""#), ["lane: unknown value 'slow'", "known: bulk, normal, urgent"]),
    (CarillonWorld.job("a", more: #","id":"b""#), ["not valid JSON"]),
    (
      CarillonWorld.job("a").replacing(#""app":"news""#, with: #""app":"nwes""#),
      ["app: no app 'nwes' in the configuration", "did you mean 'news'?"]
    ),
    (
      CarillonWorld.job("a", audience: #"{"segment":"vip & (sports | "}"#),
      ["audience.segment: column 17: ", "an expression looks like"]
    ),
    (
      CarillonWorld.job("a", audience: #"{"segment":"vipp & !churned"}"#),
      ["audience.segment: there is no segment 'churned'", "carillon segment import churned FILE"]
    ),
    (CarillonWorld.job("a", audience: #"{"segment":"*","users":["u"]}"#), ["audience: has segment and users together"]),
    (CarillonWorld.job("a", audience: #"{"tokens":["00","xyz"]}"#), ["audience.tokens[1]: is not a device token"]),
    (
      CarillonWorld.job(
        "a", content: #""apns":{"payload":{"aps":{"alert":"hi"}},"pushType":"background","priority":10}"#),
      ["priority: APNs does not allow 10 for push type background", "use 5"]
    ),
    (
      CarillonWorld.job("a", content: #""apns":{"payload":{"aps":{"alert":"hi"}},"pushType":"background"}"#),
      ["payload.aps.alert: is not allowed in a background push", "rule background-visible: Apple, “Pushing background"]
    ),
    (
      CarillonWorld.job("a", content: #""apns":{"payload":{"aps":{"alert":"hi"}},"pushType":"liveactivity"}"#),
      ["payload.aps.event: is missing", "rule activity-event: Apple, “Starting and updating Live Activities"]
    ),
    (
      CarillonWorld.job("a").replacing(#""alert":"hi""#, with: #""content-available":1"#),
      ["payload.aps: has content-available, but no alert", "send the push with pushType background and priority 5"]
    ),
    (
      CarillonWorld.job("a").replacing("hi", with: String(repeating: "x", count: 5000)),
      ["payload: 5020 bytes, which is 924 over the 4096 that APNs allows for push type alert"]
    ),
    (
      CarillonWorld.job("a", content: #""apns":{"payload":{"aps":{"alert":"hi"}},"pushType":"voip"}"#)
        .replacing("hi", with: String(repeating: "x", count: 5200)),
      ["payload: 5220 bytes, which is 100 over the 5120 that APNs allows for push type voip"]
    ),
    (
      CarillonWorld.job("a").replacing(
        #""hi""#, with: String(repeating: "[", count: 33) + String(repeating: "]", count: 33)),
      ["not valid JSON", "32"]
    ),
  ]

  @Test(arguments: jobs)
  func jobIsRefusedAtSubmitAndNothingIsQueued(_ bad: Case) async throws {
    let world = try await CarillonWorld()
    let output = try await world.run("campaign", "submit", "-", input: bad.job)
    expect(output.exit, is: .status(65))
    for part in bad.says { expect(output.standardError.contains(part), "\(output.standardError)") }
    expect(try await world.server.command("LLEN", "{\(world.namespace)}:campaigns"), is: "0")
  }

  @Test func oversizedJobIsRefusedWithItsSize() async throws {
    let world = try await CarillonWorld()
    let blanks = String(repeating: " ", count: CampaignJob.maximumSize)
    let job = CarillonWorld.job("large")
    let file = try world.folder.write("job.json", job + blanks)
    let output = try await world.run("campaign", "submit", file)
    output.expect(exit: 65, saying: "\(job.utf8.count) over the limit of 1048576", "put the audience into a segment")
  }

  @Test func missingConfigurationNamesTheOption() async throws {
    let folder = try ScratchFolder()
    let output = try await CarillonCommand.run(["campaign", "list"], folder: folder.url)
    output.expect(
      exit: 65, saying: "the working directory has no Config/carillon.yaml", "--config FILE or CARILLON_CONFIG")
  }

  static let keys: [(pem: String?, says: [String])] = [
    (nil, ["apps.news.apns.token.keyFile: ", "No such file or directory", "check the path and its permissions"]),
    ("-----BEGIN ENCRYPTED PRIVATE KEY-----\n", ["the key is encrypted", "openssl pkcs8"]),
    ("hello", ["no private key in PEM found", "developer.apple.com"]),
    (
      "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEICXnPV0ZJf2PzR2ppPKAPZ0AhFcFqN1b34IrHBzbNf0P\n-----END PRIVATE KEY-----\n",
      ["apps.news.apns.token.keyFile: ", "P-256"]
    ),
  ]

  @Test(arguments: keys)
  func workerDoesNotStartWithAnUnusableKey(pem: String?, says: [String]) async throws {
    var world = try await CarillonWorld()
    world.environment["CARILLON_APPS_NEWS_APNS_TOKEN_KEY_FILE"] =
      try pem.map { try world.folder.writeSecret("key.p8", $0) } ?? "/nowhere.p8"
    let output = try await world.run("worker", "--drain")
    expect(output.exit, is: .status(65))
    for part in says { expect(output.standardError.contains(part), "\(output.standardError)") }
  }

  @Test func workerDoesNotStartWithInvalidTrustRoots() async throws {
    var world = try await CarillonWorld()
    world.environment["CARILLON_APPS_NEWS_APNS_TRUST_ROOTS"] = try world.folder.write("ca.pem", "hello")
    let output = try await world.run("worker", "--drain")
    output.expect(exit: 65, saying: "apps.news.apns.trustRoots: ", "has no certificate in PEM")
  }

  @Test func otherPartitionCountIsRefusedWithTheRightOne() async throws {
    var world = try await CarillonWorld(partitions: 8)
    try await world.importDevices(1)
    world.environment["CARILLON_REDIS_PARTITIONS"] = "16"
    for command in [["worker", "--drain"], ["campaign", "list"]] {
      let output = try await CarillonCommand.run(command, environment: world.environment)
      output.expect(exit: 65, saying: "has 8 partitions, not 16", "remove redis.partitions, or set it to 8")
    }
  }

  @Test(arguments: [["worker"], ["campaign", "list"], ["devices", "show", "u1"]])
  func stoppedRedisIsUnreachable(command: [String]) async throws {
    let server = try await RedisServer.start()
    let world = try await CarillonWorld(server: server)
    await server.stop()
    let output = try await CarillonCommand.run(command + ["--json"], environment: world.environment)
    expect(output.exit, is: .status(69))
    let error = try #require(try JSONObject(output.standardError).object("error"))
    expect(error.text("code"), is: "unreachable")
    expect(error.text("message")?.contains("127.0.0.1:\(server.port)"), is: true)
    expect(error.text("hint")?.contains("redis.url"), is: true)
  }

  @Test func evictingRedisIsRefused() async throws {
    let server = try await RedisServer.start(arguments: ["--maxmemory-policy", "allkeys-lru"])
    let output = try await CarillonWorld(server: server).run("worker")
    output.expect(exit: 69, saying: "maxmemory-policy is allkeys-lru", "set maxmemory-policy to noeviction")
  }

  @Test func replicaIsRefused() async throws {
    let primary = try await RedisServer.start()
    let replica = try await RedisServer.start(arguments: ["--replicaof", "127.0.0.1", String(primary.port)])
    let output = try await CarillonWorld(server: replica).run("campaign", "submit", "-", input: CarillonWorld.job("a"))
    output.expect(exit: 69, saying: "is a read-only replica", "set redis.url to the primary")
    await primary.stop()
  }

  @Test func wrongPasswordIsNeverShown() async throws {
    let server = try await RedisServer.start(password: "right")
    var world = try await CarillonWorld(server: server)
    world.environment["CARILLON_REDIS_URL"] = "redis://:secret@127.0.0.1:\(server.port)"
    let output = try await world.run("campaign", "list")
    output.expect(exit: 65, saying: "logging in was refused: WRONGPASS", "redis.passwordFile")
    expect(!output.standardError.contains("secret"))
  }
}
