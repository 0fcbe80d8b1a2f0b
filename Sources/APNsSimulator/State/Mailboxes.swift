internal import Synchronization

/// The pushes that are stored for offline devices, and the notifications that online devices show. Shared by all event
/// loops.
///
/// For each device token and topic, at most one push is stored. A new push replaces it.
final class Mailboxes: Sendable {
  /// Counts of accepted pushes.
  struct Summary: Equatable, Sendable {
    /// Stored pushes that were delivered when their device was online again.
    var forwarded = 0
    /// Pushes that are stored for their device.
    var stored = 0
    /// Stored pushes that a newer push for the same device and topic replaced.
    var overwritten = 0
    /// Pushes that were not stored because storage was not allowed, or that expired before their device was online
    /// again.
    var expired = 0
    /// Pushes that replaced a notification with the same collapse identifier.
    var collapsed = 0
  }

  private struct Slot {
    var topic: DeviceRegistry.TopicID
    var expiration: Int64
    var collapseID: [UInt8]
  }

  private struct State {
    var summary = Summary()
    /// The stored pushes of each device token, at most one for each topic. A device has few topics.
    var waiting: [[UInt8]: [Slot]] = [:]
    var shown: Set<[UInt8]> = []
  }

  /// Maximum storage time of a push in seconds: 30 days, regardless of its expiration.
  private static let longestStorage: Int64 = 30 * 86_400
  /// Maximum number of stored collapse identifiers; each needs about a hundred bytes. At this number, the simulator
  /// removes all of them.
  private static let maximumShown = 1_000_000

  private let state = Mutex(State())

  /// Stores a push for an offline device.
  ///
  /// - Parameter now: seconds since 1970 on the simulator's clock.
  func store(_ details: PushDetails, now: Int64) {
    let latest = now + Self.longestStorage
    let expiration = min(details.expiration ?? latest, latest)
    state.withLock { state in
      guard expiration > now else {
        state.summary.expired += 1
        return
      }
      var slots = state.waiting[details.token] ?? []
      if let index = slots.firstIndex(where: { $0.topic == details.topicID }) {
        if slots[index].expiration > now { state.summary.overwritten += 1 } else { state.summary.expired += 1 }
        slots.remove(at: index)
      }
      slots.append(Slot(topic: details.topicID, expiration: expiration, collapseID: details.collapseID))
      state.waiting[details.token] = slots
    }
  }

  /// Records that a device shows a notification. Only a push with a collapse identifier can replace an earlier
  /// notification.
  func show(_ details: PushDetails) {
    guard !details.collapseID.isEmpty else { return }
    state.withLock { Self.show(details.token, details.topicID, details.collapseID, in: &$0) }
  }

  /// Delivers the stored pushes of a device that is online again.
  func forward(to token: [UInt8], now: Int64) {
    state.withLock { state in
      for slot in state.waiting.removeValue(forKey: token) ?? [] {
        guard slot.expiration > now else {
          state.summary.expired += 1
          continue
        }
        state.summary.forwarded += 1
        if !slot.collapseID.isEmpty { Self.show(token, slot.topic, slot.collapseID, in: &state) }
      }
    }
  }

  /// Returns the current sums and removes expired pushes.
  func summary(now: Int64) -> Summary {
    state.withLock { state in
      var stored = 0
      for (token, slots) in state.waiting {
        let live = slots.filter { $0.expiration > now }
        if live.count < slots.count {
          state.summary.expired += slots.count - live.count
          state.waiting[token] = live.isEmpty ? nil : live
        }
        stored += live.count
      }
      state.summary.stored = stored
      return state.summary
    }
  }

  /// Removes everything.
  func removeAll() { state.withLock { $0 = State() } }

  private static func show(
    _ token: [UInt8], _ topic: DeviceRegistry.TopicID, _ collapseID: [UInt8], in state: inout State
  ) {
    if state.shown.count >= maximumShown { state.shown.removeAll() }
    // The tag contains the length of the token. Otherwise different pairs of token and identifier could have the same
    // concatenation.
    let tag = [UInt8(token.count), UInt8(topic >> 8), UInt8(truncatingIfNeeded: topic)]
    if !state.shown.insert(tag + token + collapseID).inserted { state.summary.collapsed += 1 }
  }
}
