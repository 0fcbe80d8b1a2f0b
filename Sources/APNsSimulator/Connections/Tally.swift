/// The counts of one event loop. When a client asks for the counters, the simulator adds the counts of all loops.
struct Tally: Sendable {
  var received = 0
  var accepted = 0
  /// Pushes delivered to their devices immediately.
  var delivered = 0
  var byReason = [Int](repeating: 0, count: Reason.allCases.count)
  var injected: [String: Int] = [:]
  var connections = 0
  var openConnections = 0
  var goAways = 0
  var refusedStreams = 0
  var abandonedStreams = 0
  var faults: [FaultKind: Int] = [:]
  var bodyBytes = 0
  /// Counts of the FCM side.
  var fcm = FCMCounters()

  /// Resets all counts except the number of open connections.
  mutating func reset() {
    let open = openConnections
    self = Tally()
    openConnections = open
  }

  /// Adds these counts to `counters`.
  func add(to counters: inout SimulatorCounters) {
    counters.received += received
    counters.accepted += accepted
    counters.delivered += delivered
    counters.connections += connections
    counters.openConnections += openConnections
    counters.goAways += goAways
    counters.refusedStreams += refusedStreams
    counters.abandonedStreams += abandonedStreams
    counters.bodyBytes += bodyBytes
    counters.fcm.add(fcm)
    for (kind, count) in faults where count > 0 { counters.faults[kind.rawValue, default: 0] += count }
    for (reason, count) in zip(Reason.allCases, byReason) where count > 0 {
      counters.reasons[reason.name, default: 0] += count
    }
    counters.reasons.merge(injected, uniquingKeysWith: +)
  }
}
