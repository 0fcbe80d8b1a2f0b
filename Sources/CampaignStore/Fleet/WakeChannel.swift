public import EventLoop
import Redis

/// What the fleet is told by messages. A message may be lost: each says only that looking is worth it.
public enum WakeMessage: Sendable, Equatable {
  /// So many slices can be taken.
  case slices(Int)
  /// A slice can be taken that a dead worker has left.
  case left(SliceReference)
  /// A campaign was paused, resumed or cancelled; the control epoch since.
  case control(epoch: Int)
  /// The housekeeper lives. So many campaigns are on lanes; the control epoch; ms until the next beat.
  case beat(campaigns: Int, epoch: Int, next: Int)
  /// A campaign waits until the registration events on their list are applied.
  case events

  /// - Parameter partitions: of the store.
  /// - Returns: `nil` for what no script of this version says.
  init?(_ text: String, partitions: Int) {
    let words = text.split(separator: " ")
    if words.count == 2, words[0] == "left" {
      guard let slice = SliceReference(String(words[1]), partitions: partitions) else { return nil }
      self = .left(slice)
      return
    }
    let numbers = words.dropFirst().compactMap { Int($0) }
    switch (words.first, numbers.count) {
    case ("events", 0): self = .events
    case ("slices", 1): self = .slices(numbers[0])
    case ("control", 1): self = .control(epoch: numbers[0])
    case ("beat", 3): self = .beat(campaigns: numbers[0], epoch: numbers[1], next: numbers[2])
    default: return nil
    }
  }
}

/// A worker's ear: listens on the channel of the fleet, and on one of its own, by which the server knows that it lives.
public struct WakeListener: Sendable {
  /// What a listener tells, on its loop.
  public enum Event: Sendable {
    /// From now on messages arrive; those of before are lost.
    case listening
    /// No message arrives until the next ``listening``.
    case deaf(any Error)
    /// A message.
    case message(WakeMessage)
  }

  private let subscriber: RedisSubscriber

  fileprivate init(_ subscriber: RedisSubscriber) { self.subscriber = subscriber }

  /// Listens from now on; returns when it does, or when the first attempt has failed.
  public func start() async { await subscriber.start() }

  /// Ends it.
  public func close() async { await subscriber.close() }
}

extension Fleet {
  /// The ear of a worker, over a connection of its own, which goes where this store's does.
  ///
  /// - Parameters:
  ///   - instance: whose.
  ///   - loop: where it lives; the handler is called there.
  ///   - handler: what is told of messages.
  public func listener(
    for instance: WorkerInstance, on loop: EventLoop, handler: @escaping @Sendable (WakeListener.Event) -> Void
  ) -> WakeListener {
    WakeListener(
      redis.subscriber(to: [keys.wake, keys.presence(instance)], on: loop) { [partitions = keys.partitions] event in
        switch event {
        case .listening: handler(.listening)
        case .lost(let error): handler(.deaf(error))
        case .message(_, let text):
          guard let text = text.string, let message = WakeMessage(text, partitions: partitions) else { return }
          handler(.message(message))
        }
      })
  }
}
