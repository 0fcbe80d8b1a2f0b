private import Foundation
internal import Synchronization

/// What the control API and ``Simulator`` do across all event loops.
final class ControlService: Sendable {
  let shared: SharedState
  let loops: [SimulatorLoop]
  private let current: Mutex<Rules>

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
    counters.mostDeliveries = deliveries.mostDeliveries
    counters.devices = shared.registry.count
    return counters
  }

  func set(_ knobs: SimulatorKnobs) async {
    let rules = current.withLock { current in
      current = Rules(knobs, version: current.version + 1)
      return current
    }
    shared.obey(knobs)
    for loop in loops { await loop.apply(rules) }
  }

  func reset(devices: Bool) async {
    shared.deliveries.removeAll()
    shared.tokenUpdates.removeAll()
    shared.tokenRates.removeAll()
    if devices { shared.registry.removeAll() }
    for loop in loops { await loop.resetTally() }
  }

  /// Answers a request of the control API whose body, if any, has come whole.
  func handle(method: String, path: String, body: [UInt8]) async -> ControlResponse {
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
    case ("POST", "/goaway"):
      for loop in loops { await loop.leaveAll() }
      return ControlResponse(["status": "ok"])
    case (_, "/health"), (_, "/counters"), (_, "/knobs"), (_, "/reset"), (_, "/devices"), (_, "/goaway"):
      return .failure(405, "\(method) is not for \(path)")
    default:
      return .failure(
        404, "no \(path); there are /health, /counters, /devices, /knobs, /reset and /goaway")
    }
  }
}
