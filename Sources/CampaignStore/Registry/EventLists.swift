import Redis

/// A list on which producers in any language say what happened. Raw values are the names of their keys.
public enum EventList: String, CaseIterable, Sendable {
  /// What they say of users and devices, see `RegistrationEvent`.
  case registrations
  /// What an app says that users did with pushes, see `ReceiptEvent`.
  case receipts
}

/// Events, in the order in which they were pushed.
extension Registry {
  /// Events that are read at once at most; a quarter of a megabyte of usual ones.
  private static let eventPage = 1000

  /// An event that can't be applied.
  public struct DeadEvent: Sendable {
    /// As it came.
    public var event: [UInt8]
    /// What is wrong with it.
    public var reason: String

    /// Memberwise.
    public init(event: [UInt8], reason: String) {
      self.event = event
      self.reason = reason
    }
  }

  /// The oldest events of a list, in their order.
  public struct EventPage: Sendable {
    /// As they were pushed.
    public var events: [[UInt8]]
    /// The number of events that had left the list before these were read.
    var taken: Int
  }

  /// Returns the oldest events of the list, without removing them.
  public func events(on list: EventList) async throws -> EventPage {
    var pipeline = RedisPipeline()
    // In this order: if events leave the list in between, the count is too low and `takeoff` refuses the page.
    pipeline.append("HGET", keys.housekeeping, "taken:" + list.rawValue)
    pipeline.append("LRANGE", keys.events(list), -Self.eventPage, -1)
    let replies = try await run(pipeline)
    return EventPage(
      events: replies[1].map { Array($0.bytes ?? []) }.reversed(), taken: replies[0].integer ?? 0)
  }

  /// Takes the oldest events off the list, which have been applied, or can't be.
  ///
  /// - Parameters:
  ///   - page: the events.
  ///   - list: off which.
  ///   - dead: those of them that go to the dead list.
  ///   - instance: the housekeeper.
  /// - Returns: false when another is the housekeeper, or has taken the page off: then the rest is for that one to apply.
  public func takeOff(
    _ page: EventPage, _ list: EventList, dead: [DeadEvent], as instance: WorkerInstance
  ) async throws -> Bool {
    var pipeline = RedisPipeline()
    pipeline.script(
      StoreScripts.takeOff, keys: [keys.events(list), keys.housekeeper, keys.dead, keys.housekeeping, keys.wake]
    ) {
      $0.append(instance.description)
      $0.append(page.events.count)
      $0.append(Queue.deadJobs)
      $0.append(list.rawValue)
      $0.append(page.taken)
      for event in dead {
        $0.append(event.event.prefix(Queue.deadJobSize))
        $0.append(event.reason)
        $0.append("push a mended one and drop this, or mend the settings and put it back: carillon dead retry")
      }
    }
    return try await run(pipeline)[0].integer == 1
  }

  /// Puts an event back that is in the dead list, as the newest.
  ///
  /// - Throws: ``StoreError`` `notFound`.
  public func retryEvent(_ dead: DeadJob) async throws {
    guard let list = dead.list else { throw store.queue.noSuchDeadJob(dead.key) }
    var pipeline = RedisPipeline()
    pipeline.script(StoreScripts.retryEvent, keys: [keys.dead, keys.events(list)]) {
      $0.append(dead.key)
      $0.append(dead.job)
    }
    guard try await run(pipeline)[0].integer == 1 else { throw store.queue.noSuchDeadJob(dead.key) }
  }
}
