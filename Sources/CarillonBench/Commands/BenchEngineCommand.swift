import PushTransport
import ArgumentParser
import CommandSupport
import PushCore
import PushWorker

/// `carillon-bench engine`.
struct BenchEngineCommand: CarillonCommand {
  static let configuration = CommandConfiguration(
    commandName: "engine",
    abstract: "Send pushes through one pool of connections, without Redis.",
    discussion: """
      Sends real pushes, so point the app at a simulator.

      Examples:
        carillon-bench engine --app news --tokens tokens.txt --requests 200000 --engine native
        carillon-bench engine --app news --tokens tokens.txt --seconds 5 --engine native
      """)

  @OptionGroup var global: GlobalOptions

  @Option(help: "The app, by its name in the configuration.")
  var app: String

  @Option(help: "The push service of the app.")
  var service = "apns"

  @Option(help: "A file with device tokens of the push service, one per line, used in turn.")
  var tokens: String

  @Option(help: "The number of pushes to send.")
  var requests = 100_000

  @Option(help: "Instead of --requests: the seconds in which answers are counted, after a warm-up of the same length.")
  var seconds: Double?

  @Option(help: "The maximum number of streams on one connection.")
  var streams = 1000

  @Option(help: "The engine that sends (default: both, one after the other).")
  var engine: PushEngineKind?

  @Option(help: "The size of the payload, 50 to 4096 bytes.")
  var payload = 242

  func validate() throws {
    guard requests > 0, streams > 0, seconds ?? 1 > 0, (50...4096).contains(payload) else {
      throw ValidationError("--requests, --streams and --seconds must be positive, --payload 50 to 4096.")
    }
  }

  func run() async throws {
    let configuration = try global.loadConfiguration()
    guard let channel = try AppChannels.make(configuration.apps)[app]?[service] else {
      throw CommandError(
        .configuration, "there is no app \(Excerpt.quoted(app)) with the push service \(Excerpt.quoted(service))",
        hint: Nearest.hint(app, among: configuration.apps.keys))
    }
    let list = try InputFile.contents(tokens, limit: 1 << 28).split(separator: UInt8(ascii: "\n")).map { line in
      guard let token = channel.service.token(String(decoding: line, as: UTF8.self)) else {
        throw CommandError(
          .input, "\(tokens): a line is not a device token", hint: "one token a line: \(channel.service.tokenForm)")
      }
      return token.bytes
    }
    guard !list.isEmpty else { throw CommandError(.input, "\(tokens): no tokens") }
    // Gets the first authorization before the measurement, because an FCM access token comes from a server.
    _ = await channel.credential.firstAuthorization()
    let campaign = Campaign(
      id: "bench", app: app, audience: .users([]), payload: Self.body(of: payload, for: channel.service))
    for engine in engine.map({ [$0] }) ?? PushEngineKind.allCases {
      let result = await EngineBenchmark.run(
        ConnectionPool.Configuration(
          endpoint: channel.endpoint, service: channel.service, connections: configuration.worker.connections,
          maximumStreams: streams,
          engine: engine),
        credential: channel.credential, composer: channel.service.composer(for: campaign, expiration: nil),
        extent: seconds.map { .seconds($0) } ?? .pushes(requests)
      ) { list[$0 % list.count] }
      try report(result, of: engine)
    }
  }

  private func report(_ result: EngineBenchmark.Result, of engine: PushEngineKind) throws {
    var json = JSONWriter()
    json.beginObject()
    json.member("engine", engine.rawValue)
    json.member("pushes", result.pushes)
    json.member("accepted", result.accepted)
    json.member("rejected", result.rejected)
    json.member("unanswered", result.unanswered)
    json.member("perSecond", Int(Double(result.pushes) / result.seconds))
    json.member("cpuMicroseconds", result.cpuPerPush)
    if seconds != nil { json.member("inFlight", Int(result.inFlight)) }
    json.endObject()
    try StandardOutput.printLine(String(decoding: json.take(), as: UTF8.self))
    if let error = result.lastError, result.accepted < (seconds == nil ? requests : 1) {
      throw CommandError(.unreachable, error)
    }
  }

  /// Returns a payload with exactly `size` bytes.
  private static func body(of size: Int, for service: any PushService) -> [UInt8] {
    let (head, tail) =
      service.payloadField == "payload"
      ? (Array(#"{"aps":{"alert":{"body":""#.utf8), Array(#""}}}"#.utf8))
      : (Array(#"{"notification":{"body":""#.utf8), Array(#""}}"#.utf8))
    return head + Array(repeating: UInt8(ascii: "x"), count: size - head.count - tail.count) + tail
  }
}
