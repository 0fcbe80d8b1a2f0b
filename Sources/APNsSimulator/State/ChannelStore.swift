internal import Synchronization
internal import TLS

/// The broadcast channels of all apps. Shared by all event loops.
final class ChannelStore: Sendable {
  /// Whether a channel stores its last message for devices that subscribe later. The storage policy of a channel never
  /// changes.
  enum Storage: Int, Sendable {
    case none = 0
    case mostRecent = 1
  }

  private struct State {
    var channels: [[UInt8]: [String: Storage]] = [:]
    var generator: SplitMix64
    var broadcasts = 0
  }

  /// Apple's maximum number of channels for an app in one environment.
  private static let maximumChannels = 10_000
  /// Number of bytes of a channel identifier before Base64 encoding. Apple's identifiers have no fixed size.
  private static let identifierSize = 16

  private let state: Mutex<State>

  init(seed: UInt64) { state = Mutex(State(generator: SplitMix64(seed: seed))) }

  /// Creates a channel.
  ///
  /// - Returns: its identifier in Base64; `nil` if the app has the maximum number of channels.
  func create(for app: [UInt8], _ storage: Storage) -> String? {
    state.withLock { state in
      guard state.channels[app, default: [:]].count < Self.maximumChannels else { return nil }
      let bytes = (0..<Self.identifierSize).map { _ in UInt8.random(in: .min ... .max, using: &state.generator) }
      let identifier = Base64.encode(bytes)
      state.channels[app, default: [:]][identifier] = storage
      return identifier
    }
  }

  /// Returns the storage policy of a channel; `nil` if the channel does not exist.
  func find(_ identifier: String, of app: [UInt8]) -> Storage? { state.withLock { $0.channels[app]?[identifier] } }

  /// Deletes a channel.
  ///
  /// - Returns: whether the channel existed.
  func delete(_ identifier: String, of app: [UInt8]) -> Bool {
    state.withLock { $0.channels[app]?.removeValue(forKey: identifier) != nil }
  }

  /// Returns the sorted identifiers of an app's channels.
  func list(of app: [UInt8]) -> [String] { state.withLock { ($0.channels[app] ?? [:]).keys.sorted() } }

  /// Counts an accepted broadcast.
  func countBroadcast() { state.withLock { $0.broadcasts += 1 } }

  /// Accepted broadcasts and existing channels.
  var counts: (broadcasts: Int, channels: Int) {
    state.withLock { ($0.broadcasts, $0.channels.values.reduce(0) { $0 + $1.count }) }
  }

  /// Resets the count of broadcasts. Channels stay.
  func reset() { state.withLock { $0.broadcasts = 0 } }
}
