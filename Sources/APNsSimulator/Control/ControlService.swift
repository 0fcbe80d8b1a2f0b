private import EventLoop
private import Foundation
internal import Synchronization

/// The operations that affect all event loops of the simulator. The control API and ``Simulator`` call them.
final class ControlService: Sendable {
  let shared: SharedState
  let loops: [SimulatorLoop]
  private let current: Mutex<Rules>
  private let player = Mutex<Task<Void, Never>?>(nil)

  init(shared: SharedState, loops: [SimulatorLoop]) {
    self.shared = shared
    self.loops = loops
    current = Mutex(Rules(shared.configuration.knobs, version: 1))
  }

  var knobs: SimulatorKnobs { current.withLock { $0.knobs } }

  func counters() async -> SimulatorCounters {
    var counters = SimulatorCounters()
    for loop in loops { await loop.tally.add(to: &counters) }
    let deliveries = shared.deliveries.summary
    counters.duplicates = deliveries.accepted
    counters.duplicatesReceived = deliveries.received
    counters.repeatedIDs = deliveries.repeatedIDs
    counters.maximumDeliveries = deliveries.maximumDeliveries
    let mailboxes = shared.mailboxes.summary(now: now)
    counters.delivered += mailboxes.forwarded
    counters.stored = mailboxes.stored
    counters.overwritten = mailboxes.overwritten
    counters.expired = mailboxes.expired
    counters.collapsed = mailboxes.collapsed
    (counters.broadcasts, counters.channels) = shared.channels.counts
    counters.devices = shared.registry.count
    if let fcm = shared.fcm {
      let sums = fcm.devices.sums
      counters.fcm.duplicates = sums.duplicates
      counters.fcm.delayed = sums.delayed
      counters.fcm.devices = fcm.devices.count
    }
    return counters
  }

  func set(_ knobs: SimulatorKnobs) async {
    let rules = current.withLock { current in
      current = Rules(knobs, version: current.version + 1)
      return current
    }
    shared.apply(knobs)
    for loop in loops { await loop.apply(rules) }
  }

  func reset(devices: Bool) async {
    shared.deliveries.removeAll()
    shared.mailboxes.removeAll()
    shared.channels.reset()
    shared.tokenUpdates.removeAll()
    shared.tokenRates.removeAll()
    shared.connectRates.removeAll()
    if devices { shared.registry.removeAll() }
    shared.fcm?.reset(registrations: devices)
    for loop in loops { await loop.resetTally() }
  }

  /// Plays a timeline from its start. It replaces the timeline that was playing.
  func play(_ timeline: SimulatorTimeline) {
    let task = Task { [weak self] in
      var cursor = SimulatorTimeline.Cursor(timeline)
      let clock = ContinuousClock()
      let begin = clock.now
      while let next = cursor.next, !Task.isCancelled {
        // The sleep throws if the task is cancelled. The timeline then ends.
        guard (try? await clock.sleep(until: begin.advanced(by: .seconds(next)))) != nil else { return }
        let elapsed = begin.duration(to: clock.now) / .seconds(1)
        for event in cursor.take(until: elapsed) { await self?.perform(event) }
      }
    }
    player.withLock { player in
      player?.cancel()
      player = task
    }
  }

  /// Stops the timeline.
  func stopPlaying() { player.withLock { $0?.cancel() } }

  private func perform(_ event: SimulatorTimeline.Event) async {
    var changed = knobs
    // The timeline was validated when it was read. A value that is valid alone is also valid in combination with other
    // changes.
    if !event.knobs.isEmpty, (try? changed.apply(json: event.knobs)) != nil { await set(changed) }
    switch event.action {
    case nil: break
    case .goAway: await leaveAll()
    case .reset: await reset(devices: false)
    }
  }

  /// Sends GOAWAY on every push connection.
  func leaveAll() async {
    for loop in loops { await loop.leaveAll() }
  }

  /// Seconds since 1970 on the simulator's clock.
  private var now: Int64 { Int64(EventLoop.wallClock / 1000) + knobs.clockSkewSeconds }

  /// Takes a device offline, or brings it online and delivers its stored pushes.
  func set(_ token: [UInt8], isAway: Bool) {
    token.withUnsafeBytes { shared.registry.set($0, isAway: isAway) }
    if !isAway { shared.mailboxes.forward(to: token, now: now) }
  }

  /// Takes the devices of a list offline or brings them online. The list has tokens in hex, one per line.
  private func setAll(_ list: [UInt8], isAway: Bool) -> ControlResponse {
    let lines = list.split(separator: UInt8(ascii: "\n")).map { $0.last == 0x0D ? $0.dropLast() : $0 }
    var tokens: [[UInt8]] = []
    for (index, line) in lines.enumerated() {
      guard let token = line.withUnsafeBytes({ Hex.decoded($0) }), token.count <= 255 else {
        return .failure(400, "line \(index + 1) is not a device token in hex; nothing was changed")
      }
      tokens.append(token)
    }
    for token in tokens { set(token, isAway: isAway) }
    return ControlResponse(["devices": tokens.count])
  }

  /// Answers a request of the control API after its body was received completely.
  func handle(method: String, path: String, body: [UInt8]) async -> ControlResponse {
    if path.hasPrefix("/fcm/") { return handleFCM(method, path) }
    switch (method, path) {
    case ("GET", "/health"): return ControlResponse(["status": "ok"])
    case ("GET", "/counters"): return ControlResponse(await counters())
    case ("GET", "/knobs"): return ControlResponse(knobs)
    case ("PUT", "/knobs"):
      do {
        let changed = try KnobPatch.apply(body, to: knobs)
        await set(changed)
        return ControlResponse(changed)
      } catch {
        return .failure(400, "\(error)")
      }
    case ("POST", "/reset"), ("POST", "/reset?devices=true"):
      await reset(devices: path.hasSuffix("?devices=true"))
      return ControlResponse(await counters())
    case ("POST", "/online"): return setAll(body, isAway: false)
    case ("POST", "/offline"): return setAll(body, isAway: true)
    case ("POST", "/goaway"):
      await leaveAll()
      return ControlResponse(["status": "ok"])
    case ("POST", "/timeline"):
      do {
        let timeline = try SimulatorTimeline(json: body)
        play(timeline)
        return ControlResponse(["events": timeline.events.count])
      } catch {
        return .failure(400, "\(error)")
      }
    case (_, "/health"), (_, "/counters"), (_, "/knobs"), (_, "/reset"), (_, "/devices"), (_, "/goaway"),
      (_, "/online"), (_, "/offline"), (_, "/timeline"):
      return .failure(405, "\(method) is not for \(path)")
    default:
      return .failure(
        404,
        "no \(path); there are /health, /counters, /devices, /online, /offline, /knobs, /timeline, /reset "
          + "/goaway, and of FCM \(Self.fcmPaths)")
    }
  }

  private static let fcmPaths = "/fcm/devices, /fcm/deliveries?token=TOKEN, /fcm/tokens/revoke and /fcm/tokens/expire"
  private static let deliveriesOf = "/fcm/deliveries?token="

  private func handleFCM(_ method: String, _ path: String) -> ControlResponse {
    guard let fcm = shared.fcm else {
      return .failure(404, "this simulator has no FCM side: its configuration has no service account")
    }
    switch (method, path) {
    case ("POST", "/fcm/tokens/revoke"): fcm.tokens.revokeAll()
    case ("POST", "/fcm/tokens/expire"): fcm.tokens.expireAll()
    case ("GET", _) where path.hasPrefix(Self.deliveriesOf):
      let token = FormFields(Array(path.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst()))["token"] ?? ""
      return ControlResponse(fcm.devices.deliveries(to: token))
    default: return .failure(404, "no \(method) \(path); there are \(Self.fcmPaths)")
    }
    return ControlResponse(["status": "ok"])
  }
}
