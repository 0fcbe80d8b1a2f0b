internal import Synchronization

/// The registrations that the simulator knows, and the messages that they got. Shared by all event loops.
final class FCMDevices: Sendable {
  /// The messages of one registration.
  struct Deliveries: Codable, Equatable, Sendable {
    var accepted = 0
    /// Messages with the identity of an earlier message.
    var duplicates = 0
    /// Collapsible messages beyond the allowed burst. FCM accepts them and delivers them later.
    var delayed = 0
  }

  /// A known registration.
  struct Record: Sendable {
    var state = SimulatedRegistration.State.registered
    var project: String?
    var package: String?
  }

  private struct Log {
    var deliveries = Deliveries()
    var identities: Set<String> = []
    /// Number of further collapsible messages that FCM delivers immediately (Google, "Throttling and quotas").
    /// `burstAt` is the time at which this number was valid, in milliseconds.
    var burst = FCMDevices.collapsibleBurst
    var burstAt: UInt64 = 0
    var minute = Window()
    var hour = Window()
  }

  /// The count of messages in a period that begins with its first message.
  private struct Window {
    var begins: UInt64 = 0
    var count = 0

    mutating func take(now: UInt64, length: UInt64) -> Int {
      if now >= begins + length { self = Window(begins: now) }
      count += 1
      return count
    }
  }

  private struct State {
    var records: [String: Record] = [:]
    var logs: [String: Log] = [:]
    var sums = Deliveries()
  }

  private static let collapsibleBurst = 20.0
  /// Milliseconds after which a device gets one more collapsible message.
  private static let collapsibleRefill = 180_000.0
  /// More shards than threads, so that two threads seldom need the same lock.
  private static let shardCount = 32

  private final class Shard: Sendable {
    let state = Mutex(State())
  }

  private let shards = (0..<shardCount).map { _ in Shard() }

  private func shard(of target: String) -> Shard {
    shards[Int(UInt(bitPattern: target.hashValue) % UInt(Self.shardCount))]
  }

  /// Adds or changes a registration.
  func set(_ registration: SimulatedRegistration) {
    shard(of: registration.target).state.withLock {
      $0.records[registration.target] = Record(
        state: registration.state, project: registration.project, package: registration.package)
    }
  }

  /// Returns a registration; `nil` if it was never loaded.
  func record(of target: String) -> Record? { shard(of: target).state.withLock { $0.records[target] } }

  /// Counts a message for the quotas of a device and returns whether it is within them.
  ///
  /// - Parameter now: milliseconds on any monotonic clock.
  func admit(_ target: String, perMinute: Int, perHour: Int, now: UInt64) -> Bool {
    guard perMinute > 0 || perHour > 0 else { return true }
    return shard(of: target).state.withLock { state in
      let inMinute = state.logs[target, default: Log()].minute.take(now: now, length: 60_000)
      let inHour = state.logs[target, default: Log()].hour.take(now: now, length: 3_600_000)
      return (perMinute == 0 || inMinute <= perMinute) && (perHour == 0 || inHour <= perHour)
    }
  }

  /// Records an accepted message. The first message after the app was uninstalled unregisters the target.
  func deliver(_ message: FCMMessage, to target: String, now: UInt64) {
    shard(of: target).state.withLock { state in
      if state.records[target]?.state == .uninstalled { state.records[target]?.state = .unregistered }
      state.sums.accepted += 1
      var log = state.logs[target] ?? Log()
      log.deliveries.accepted += 1
      if let identity = message.identity, !log.identities.insert(identity).inserted {
        log.deliveries.duplicates += 1
        state.sums.duplicates += 1
      }
      if message.isCollapsible {
        let gained = log.burstAt == 0 ? 0 : Double(now - log.burstAt) / Self.collapsibleRefill
        log.burst = min(Self.collapsibleBurst, log.burst + gained)
        log.burstAt = now
        if log.burst >= 1 {
          log.burst -= 1
        } else {
          log.deliveries.delayed += 1
          state.sums.delayed += 1
        }
      }
      state.logs[target] = log
    }
  }

  /// Marks the target as unregistered if its app was uninstalled. Used if the simulator stores no deliveries
  /// (``FCMKnobs/tracksDeliveries``).
  func markUninstalled(of target: String) {
    shard(of: target).state.withLock { state in
      if state.records[target]?.state == .uninstalled { state.records[target]?.state = .unregistered }
    }
  }

  /// Returns the messages of a target.
  func deliveries(to target: String) -> Deliveries {
    shard(of: target).state.withLock { $0.logs[target]?.deliveries ?? Deliveries() }
  }

  /// The sums over all targets.
  var sums: Deliveries {
    shards.reduce(into: Deliveries()) { sums, shard in
      let more = shard.state.withLock { $0.sums }
      sums.accepted += more.accepted
      sums.duplicates += more.duplicates
      sums.delayed += more.delayed
    }
  }

  /// Number of known registrations.
  var count: Int { shards.reduce(0) { $0 + $1.state.withLock { $0.records.count } } }

  /// Removes the messages.
  ///
  /// - Parameter registrations: whether the registrations are removed too.
  func reset(registrations: Bool) {
    for shard in shards {
      shard.state.withLock { state in
        state.logs = [:]
        state.sums = Deliveries()
        if registrations { state.records = [:] }
      }
    }
  }
}
