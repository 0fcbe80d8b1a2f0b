import APNs
import CommandSupport
import FCM
import Foundation
import PushCore

/// Cost of one push to FCM: h2load and the native engine in turn, each on one connection with 100 streams, which is the
/// limit of FCM. Both send messages of the same length. The native engine also sends to APNs, for comparison.
struct FCMPart: BenchPart {
  private static let streams = 100
  private static let tokens = 10_000

  func measure(_ world: BenchWorld, _ settings: BenchSettings, _ report: BenchReport) async throws {
    // Removes the limits of the project and of the device.
    let knobs = ["messagesPerMinute", "deviceMessagesPerMinute", "deviceMessagesPerHour"].flatMap {
      ["--knob", "fcm.\($0)=1000000000"]
    }
    let simulator = try await world.startSimulator(
      ["--seed", String(settings.seed), "--knob", "fcm.tracksDeliveries=false", "--knob", "tracksDuplicates=false"]
        + knobs)
    let devices = BenchDevices(count: Self.tokens, seed: settings.seed)
    try devices.writeTokens(world.path("tokens"))
    try devices.writeTokens(world.path("fcm.tokens"), prefix: "cAAAAAAAAAAAAAAAAAAAAA:APA91b")
    let environment = try await world.androidEnvironment(simulator)
    let access = try await world.accessToken(simulator)
    try Data(message(to: world.path("fcm.tokens"))).write(to: URL(fileURLWithPath: world.path("message.json")))

    var samples: [String: [EngineBench.Sample]] = [:]
    for round in 0..<settings.rounds {
      for client in ["h2load", "fcm", "apns"] {
        report.progress("fcm: \(client), round \(round + 1) of \(settings.rounds)")
        let words =
          client == "h2load"
          ? [
            "h2load", "-n", String(settings.requests), "-c", "1", "-m", String(Self.streams), "-d",
            world.path("message.json"), "-H", "authorization: Bearer \(access)", "-H", "content-type: application/json",
            "\(simulator.fcm)/v1/projects/\(SimulatorFolder.projectID)/messages:send",
          ]
          : [
            world.program, "engine", "--engine", "native", "--app", client == "fcm" ? "android" : "news", "--service",
            client, "--tokens", world.path(client == "fcm" ? "fcm.tokens" : "tokens"), "--requests",
            String(settings.requests), "--streams", String(Self.streams), "--payload",
            String(CampaignRun.payload.utf8.count),
          ]
        let own = environment.merging(["CARILLON_WORKER_CONNECTIONS": "1"]) { $1 }
        let (output, end) = try await world.run(words, environment: client == "h2load" ? [:] : own)
        let (accepted, rate) = try EngineBench.read(output, of: client == "h2load" ? .h2load : .native)
        guard accepted == settings.requests else {
          throw CommandError(.failed, "\(client): \(accepted) of \(settings.requests) were accepted: \(output)")
        }
        samples[client, default: []].append(
          EngineBench.Sample(cpu: end.cpuMicroseconds / Double(settings.requests), rate: rate))
      }
    }
    await world.stop(simulator.process)
    try add(samples, to: report)
  }

  private func add(_ samples: [String: [EngineBench.Sample]], to report: BenchReport) throws {
    let (h2load, fcm, apns) = (samples["h2load"] ?? [], samples["fcm"] ?? [], samples["apns"] ?? [])
    for (key, name, own) in [("h2load", "h2load", h2load), ("native", "native engine", fcm)] {
      try report.add(Figure("fcm.\(key).cpu", "FCM, \(name), CPU a push", "µs", samples: own.map(\.cpu)))
      try report.add(Figure("fcm.\(key).rate", "FCM, \(name), pushes a second", "/s", samples: own.map(\.rate)))
    }
    try report.add(
      Figure(
        "fcm.native/apns", "native engine, FCM / APNs, CPU a push", "", samples: zip(fcm, apns).map { $0.cpu / $1.cpu })
    )
    try report.add(
      Figure(
        "fcm.rate/h2load", "FCM, native engine / h2load, pushes a second", "",
        samples: zip(fcm, h2load).map { $0.rate / $1.rate }))
  }

  /// Returns a message as the engine sends it, to the first token of a file.
  private func message(to tokens: String) throws -> [UInt8] {
    let token = try InputFile.contents(tokens, limit: 1 << 28).prefix { $0 != UInt8(ascii: "\n") }
    let text =
      #"{"notification":{"body":""# + String(repeating: "x", count: CampaignRun.payload.utf8.count - 29) + #""}}"#
    let campaign = Campaign(id: "bench", app: "android", audience: .users([]), payload: Array(text.utf8))
    let composer = FCMService(project: SimulatorFolder.projectID).composer(for: campaign, expiration: nil)
    var batch = composer.batch(isUnproven: false, capacity: 1, now: 0)
    _ = composer.append(ArraySlice(Array(token)), nil, tag: 0, to: &batch)
    guard let push = batch.pushes.first else { throw CommandError(.defect, "the message is too large") }
    return Array(batch.bytes[Int(push.payload.lowerBound)..<Int(push.payload.upperBound)])
  }
}
