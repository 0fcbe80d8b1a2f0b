import CampaignStore
import PushCore

/// What apps and backends say of users and devices: the housekeeper applies it, one worker of the fleet, so that it is done in
/// the order in which it was said.
extension PushWorker {
  /// Applies what is on the registrations list, beside everything else; nothing happens while that is being done.
  func applyEvents() {
    guard !isRegistering, !life.isFinished else { return }
    isRegistering = true
    let intake = RegistrationIntake(
      store: store, instance: instance, apps: Set(configuration.apps.keys),
      lastDeviceOnly: configuration.lastDeviceOnly)
    Task {
      do {
        while housekeeping.isMine, !life.isFinished {
          let page = try await intake.applyPage(now: Int(now))
          if let first = page.dead.first { log.tell(.eventsRefused(count: page.dead.count, reason: first.reason)) }
          guard page.hasMore else { break }
        }
      } catch {
        // They stay on the list; the next look begins again.
        log.report("could not apply events about users and devices", error)
        await mend(error)
      }
      isRegistering = false
    }
  }
}

/// Applies events of the registrations list, away from the worker's loop: what is sent does not wait for their parsing.
struct RegistrationIntake: Sendable {
  private let store: CampaignStore
  private let instance: WorkerInstance
  private let vocabulary: DeviceVocabulary
  private let lastDeviceOnly: Set<String>

  /// What became of some events.
  struct Page: Sendable {
    var dead: [CampaignStore.DeadEvent] = []
    /// Whether there may be more, and they are ours to apply.
    var hasMore = false
  }

  /// - Parameters:
  ///   - instance: the housekeeper.
  ///   - apps: those that events may name.
  ///   - lastDeviceOnly: those of which a user has one device only.
  init(store: CampaignStore, instance: WorkerInstance, apps: Set<String>, lastDeviceOnly: Set<String>) {
    self.store = store
    self.instance = instance
    self.lastDeviceOnly = lastDeviceOnly
    // Nobody can be asked whether a name is meant that is nearly a column's: what is taken for a slip is refused.
    vocabulary = DeviceVocabulary(services: store.services, apps: apps)
  }

  /// Applies the oldest events, and takes them off the list.
  ///
  /// - Parameter now: ms since the epoch.
  @concurrent
  func applyPage(now: Int) async throws -> Page {
    let texts = try await store.registrationEvents()
    guard !texts.isEmpty else { return Page() }
    var page = Page()
    var events: [RegistrationEvent] = []
    events.reserveCapacity(texts.count)
    for text in texts {
      do throws(DeviceRowDraft.Problem) {
        events.append(try RegistrationEvent(parsing: text, vocabulary, now: now))
      } catch {
        page.dead.append(.init(event: text, reason: "registration event: \(error.description)"))
      }
    }
    try await store.apply(events, lastDeviceOnly: lastDeviceOnly)
    page.hasMore = try await store.takeOff(texts.count, dead: page.dead, as: instance)
    if !page.hasMore { page.dead = [] }
    return page
  }
}
