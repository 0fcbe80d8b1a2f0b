import CampaignStore
import PushCore

/// Applies events of apps and backends to users and devices: registrations, removals and receipts. Runs outside the
/// worker's loop, so that parsing delays no push.
struct EventApplier: Sendable {
  private let store: CampaignStore
  private let instance: WorkerInstance
  private let apps: Set<String>
  private let lastDeviceOnly: Set<String>

  /// An event: its text on the list in Redis, and its parsed value.
  private struct Listed<Event> {
    var text: [UInt8]
    var event: Event
  }

  /// The result of applying some events.
  struct Page: Sendable {
    var dead: [Registry.DeadEvent] = []
    /// Number of statements that changed nothing. A statement is one change that an event reports; it changes nothing
    /// if Redis has a newer one.
    var superseded = 0
    /// Whether more events may be left, and this worker is still the maintenance leader.
    var hasMore = false
  }

  /// - Parameters:
  ///   - instance: The maintenance leader.
  ///   - apps: The apps that events may name.
  ///   - lastDeviceOnly: The apps for which a user has only one device.
  init(store: CampaignStore, instance: WorkerInstance, apps: Set<String>, lastDeviceOnly: Set<String>) {
    self.store = store
    self.instance = instance
    self.lastDeviceOnly = lastDeviceOnly
    self.apps = apps
  }

  /// Applies the oldest events of a list, and removes them from the list.
  ///
  /// - Parameter now: ms since the epoch.
  @concurrent
  func applyPage(of list: EventList, now: Int) async throws -> Page {
    let events = try await store.registry.events(on: list)
    let texts = events.events
    guard !texts.isEmpty else { return Page() }
    var page = Page()
    switch list {
    case .registrations:
      // An attribute whose name is similar to the name of a column is refused. The option of the import command that
      // permits such a name does not exist for events.
      let vocabulary = DeviceVocabulary(services: store.services, apps: apps, now: now)
      var registrations = read(texts, &page) { text throws(DeviceRowDraft.Problem) in
        try RegistrationEvent(parsing: text, vocabulary)
      }
      try await order(&registrations, without: now)
      page.superseded = try await apply(registrations, &page) {
        try await store.registry.apply($0, lastDeviceOnly: lastDeviceOnly)
      }
    case .receipts:
      let receipts = read(texts, &page) { text throws(DeviceRowDraft.Problem) in
        try ReceiptEvent(parsing: text, now: now)
      }
      _ = try await apply(receipts, &page) {
        try await store.results.apply($0)
        return 0
      }
    }
    page.hasMore = try await store.registry.takeOff(events, list, dead: page.dead, as: instance)
    if !page.hasMore { page.dead = [] }
    return page
  }

  /// Applies events together, or one by one if data is damaged. The events that need the damaged data go to the dead
  /// list.
  ///
  /// - Parameter write: applies the events that it gets. Called with all events, or with one event at a time.
  /// - Returns: Number of statements that changed nothing.
  private func apply<Event>(
    _ events: [Listed<Event>], _ page: inout Page, _ write: ([Event]) async throws -> Int
  ) async throws -> Int {
    do {
      return try await write(events.map(\.event))
    } catch let error as StoreError where !error.affectsAllCampaigns {
      var superseded = 0
      for listed in events {
        do {
          superseded += try await write([listed.event])
        } catch let error as StoreError where !error.affectsAllCampaigns {
          page.dead.append(.init(event: listed.text, reason: error.message))
        }
      }
      return superseded
    }
  }

  /// Assigns a time to each event without one. If two events concern the same user or token, the later event in the
  /// list gets the later time. If a registration and a removal had the same time, the removal would win.
  ///
  /// - Parameter time: the placeholder that events without a time have so far, in ms since the epoch.
  private func order(_ events: inout [Listed<RegistrationEvent>], without time: Int) async throws {
    let offsets = RegistrationEvent.offsets(of: events.map(\.event), without: time)
    guard let most = offsets.max() else { return }
    // Waits until the assigned times have passed, so that the events of the next page get later times.
    if most > 0 { try await Task.sleep(for: .milliseconds(most + 1)) }
    let now = try await store.time() / 1000
    for index in events.indices where events[index].event.at == time {
      events[index].event.move(to: now - offsets[index])
    }
  }

  private func read<Event>(
    _ texts: [[UInt8]], _ page: inout Page, _ parse: ([UInt8]) throws(DeviceRowDraft.Problem) -> Event
  ) -> [Listed<Event>] {
    var events: [Listed<Event>] = []
    events.reserveCapacity(texts.count)
    // The erasure of a user replaces each event of the user with this entry.
    for text in texts where text != CampaignJob.erasedEntry {
      do throws(DeviceRowDraft.Problem) {
        let event = try parse(text)
        events.append(Listed(text: text, event: event))
        if let refusal = (event as? RegistrationEvent)?.refusal {
          page.dead.append(.init(event: text, reason: "event: \(refusal.description)"))
        }
      } catch {
        page.dead.append(.init(event: text, reason: "event: \(error.description)"))
      }
    }
    return events
  }
}
