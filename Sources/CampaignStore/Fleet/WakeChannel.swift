public import EventLoop
import Redis

/// A message on the wake-up channel, which wakes idle workers. A message may be lost, so a worker never depends on one.
public enum WakeMessage: Sendable, Equatable {
  /// This number of slices can be taken.
  case slices(Int)
  /// A slice that a dead worker abandoned can be taken.
  case left(SliceReference)
  /// A campaign was paused, resumed or cancelled; the control epoch after that.
  case control(epoch: Int)
  /// The signal that the maintenance leader sends regularly: number of campaigns on lanes, control epoch, ms until the
  /// next signal.
  case beat(campaigns: Int, epoch: Int, next: Int)
  /// A campaign waits until the registration events on their list are applied.
  case events

  /// Reads a message.
  /// - Parameter partitions: number of partitions of the store.
  /// - Returns: `nil` for a message that no script of this version sends.
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

/// A worker's subscription to the wake-up channel and to its own presence channel. The subscribers of the presence
/// channel show whether the worker is alive.
public struct WakeListener: Sendable {
  /// An event of the listener, on its loop.
  public enum Event: Sendable {
    /// The listener is subscribed. It has missed the messages from before this event.
    case listening
    /// The connection is lost. No message arrives until the next ``listening``.
    case deaf(any Error)
    /// A message.
    case message(WakeMessage)
  }

  private let subscriber: RedisSubscriber

  fileprivate init(_ subscriber: RedisSubscriber) { self.subscriber = subscriber }

  /// Subscribes. Returns when the subscription is active, or when the first attempt has failed.
  public func start() async { await subscriber.start() }

  /// Ends the subscription.
  public func close() async { await subscriber.close() }
}

extension Fleet {
  /// Returns the listener of a worker. It uses a separate connection to the servers of this store.
  ///
  /// - Parameters:
  ///   - instance: instance of the worker.
  ///   - loop: loop of the listener, which calls the handler.
  ///   - handler: called with each event.
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
