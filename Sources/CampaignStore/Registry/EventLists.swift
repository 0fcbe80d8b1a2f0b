import Redis

/// A list to which producers in any language push events. Raw values are the names of the keys.
public enum EventList: String, CaseIterable, Sendable {
  /// Events about users and devices, see `RegistrationEvent`.
  case registrations
  /// An app's reports of what users did with pushes, see `ReceiptEvent`.
  case receipts
}

/// The lists of events. Events are applied in the order in which producers pushed them.
extension Registry {
  /// Largest number of events in a page. A page of this size usually has 1 MB. Applying a page needs one script call
  /// for each partition of its users. With small pages, this would be almost one call for each event.
  private static let eventPage = 4000

  /// An event that can't be applied.
  public struct DeadEvent: Sendable {
    /// The event as it was pushed.
    public var event: [UInt8]
    /// The error.
    public var reason: String

    /// Creates an event for the dead list.
    public init(event: [UInt8], reason: String) {
      self.event = event
      self.reason = reason
    }
  }

  /// The oldest events of a list, in their order.
  public struct EventPage: Sendable {
    /// The events as they were pushed.
    public var events: [[UInt8]]
    /// The number of events that had ever left the list before these events were read.
    var taken: Int
  }

  /// Returns the oldest events of the list, without removing them.
  public func events(on list: EventList) async throws -> EventPage {
    var pipeline = RedisPipeline()
    // The counter must be read before the events. If events leave the list between the two commands, the counter is too
    // low, and `takeoff` refuses the page.
    pipeline.append("HGET", keys.housekeeping, "taken:" + list.rawValue)
    pipeline.append("LRANGE", keys.events(list), -Self.eventPage, -1)
    let replies = try await run(pipeline)
    return EventPage(
      events: replies[1].map { Array($0.bytes ?? []) }.reversed(), taken: replies[0].integer ?? 0)
  }

  /// Removes a page of events from the list, after all of them were applied or found invalid.
  ///
  /// - Parameters:
  ///   - page: the events.
  ///   - list: the list.
  ///   - dead: the invalid events of the page, which this call moves to the dead list.
  ///   - instance: this worker, which is the maintenance leader.
  /// - Returns: false if another worker is the maintenance leader now, or has already removed the page. In this case,
  ///   that worker applies the remaining events.
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
        $0.append("push a corrected event and drop this one, or fix the settings and run carillon dead retry")
      }
    }
    return try await run(pipeline)[0].integer == 1
  }

  /// Moves an event from the dead list back to its list, as the newest one.
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
