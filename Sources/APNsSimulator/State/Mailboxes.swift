internal import Synchronization

/// What is kept for devices that are away, and what those that are there show (reference 8.4). Shared by all event loops.
///
/// One slot for each device token and topic: the newest push takes the place of the one that waits.
final class Mailboxes: Sendable {
  /// What became of pushes that were accepted.
  struct Summary: Equatable, Sendable {
    /// Handed over when their device came back.
    var forwarded = 0
    /// Waiting for their device.
    var stored = 0
    /// Lost to a newer one for the same device and topic.
    var overwritten = 0
    /// Not kept at all, because they were not to be, or too late for their device.
    var expired = 0
    /// Shown in place of one with the same collapse identifier.
    var collapsed = 0
  }

  private struct Slot {
    var topic: DeviceRegistry.TopicID
    var expiration: Int64
    var collapseID: [UInt8]
  }

  private struct State {
    var summary = Summary()
    /// By device token; a device has few topics.
    var waiting: [[UInt8]: [Slot]] = [:]
    var shown: Set<[UInt8]> = []
  }

  /// Apple keeps no push longer, whatever its expiration says.
  private static let longestStorage: Int64 = 30 * 86_400
  /// Shown collapse identifiers remembered, some hundred bytes each; beyond it all are forgotten.
  private static let mostShown = 1_000_000

  private let state = Mutex(State())

  /// Keeps a push for a device that is away.
  ///
  /// - Parameter now: seconds since 1970, by the simulator's clock.
  func keep(_ parcel: Parcel, now: Int64) {
    let latest = now + Self.longestStorage
    let expiration = min(parcel.expiration ?? latest, latest)
    state.withLock { state in
      guard expiration > now else {
        state.summary.expired += 1
        return
      }
      var slots = state.waiting[parcel.token] ?? []
      if let index = slots.firstIndex(where: { $0.topic == parcel.topicID }) {
        if slots[index].expiration > now { state.summary.overwritten += 1 } else { state.summary.expired += 1 }
        slots.remove(at: index)
      }
      slots.append(Slot(topic: parcel.topicID, expiration: expiration, collapseID: parcel.collapseID))
      state.waiting[parcel.token] = slots
    }
  }

  /// Notes that a device shows a push; only those with a collapse identifier can take another's place.
  func show(_ parcel: Parcel) {
    guard !parcel.collapseID.isEmpty else { return }
    state.withLock { Self.show(parcel.token, parcel.topicID, parcel.collapseID, in: &$0) }
  }

  /// Hands over what waits for a device that came back.
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

  /// The sums so far; what has expired meanwhile is taken out.
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

  /// Forgets everything.
  func removeAll() { state.withLock { $0 = State() } }

  private static func show(
    _ token: [UInt8], _ topic: DeviceRegistry.TopicID, _ collapseID: [UInt8], in state: inout State
  ) {
    if state.shown.count >= mostShown { state.shown.removeAll() }
    // The length keeps two pairs of token and identifier apart that would read the same one behind the other.
    let tag = [UInt8(token.count), UInt8(topic >> 8), UInt8(truncatingIfNeeded: topic)]
    if !state.shown.insert(tag + token + collapseID).inserted { state.summary.collapsed += 1 }
  }
}
