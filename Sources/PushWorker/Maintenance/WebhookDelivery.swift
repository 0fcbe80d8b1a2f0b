import CampaignStore
import EventLoop
import PushTransport

/// Delivers events to webhooks, in the worker that holds the housekeeping lease. Each webhook gets the changes in their
/// order and at its own pace: no webhook waits for another one.
final class WebhookDelivery: WorkerPart {
  let environment: WorkerEnvironment
  private let housekeeping: HousekeepingLease
  /// Webhooks to which events are being delivered, by name.
  private var delivering: Set<String> = []

  init(_ environment: WorkerEnvironment, housekeeping: HousekeepingLease) {
    self.environment = environment
    self.housekeeping = housekeeping
  }

  /// Registers new webhooks, so that they get every later change. The caller calls the function before the worker takes
  /// a job or a slice.
  func register() async throws {
    try await sharedStore.results.statuses(of: environment.configuration.webhooks.map(\.name))
  }

  /// Whether there are webhooks.
  var isNeeded: Bool { !environment.configuration.webhooks.isEmpty }

  /// Runs until its task is cancelled. No other part waits for the end of a delivery, because an event that is not
  /// recorded as delivered is delivered again.
  func run() async {
    await loop.withGroup { group in
      if self.environment.configuration.webhooks.contains(where: { $0.kinds.contains(.alarms) }) {
        self.loop.start(in: &group) { await self.alarmLoop() }
      }
      while !self.life.isFinished, !Task.isCancelled {
        if self.housekeeping.isLeader { await self.beginDeliveries(&group) }
        try? await Task.sleep(for: .milliseconds(WebhookPolicy.interval))
      }
    }
  }

  /// Starts a delivery to each webhook that has not received the latest event.
  private func beginDeliveries(_ group: inout DiscardingTaskGroup) async {
    do {
      let (statuses, latest) = try await sharedStore.results.statuses(
        of: environment.configuration.webhooks.map(\.name))
      for (webhook, status) in zip(environment.configuration.webhooks, statuses)
      where WebhookPolicy.isDue(status, latest: latest, now: Int(now)) && delivering.insert(webhook.name).inserted {
        loop.start(in: &group) { await self.deliver(to: webhook, from: status) }
      }
    } catch {
      if !life.isFinished { log.report("could not read events for webhooks", error) }
    }
  }

  /// Records alarms that were raised or cleared. Separate from the deliveries, because a check of the whole fleet takes
  /// a while.
  private func alarmLoop() async {
    while !life.isFinished, !Task.isCancelled {
      var pause = WebhookPolicy.interval
      if housekeeping.isLeader {
        pause = WebhookPolicy.alarmInterval
        do {
          try await sharedStore.results.record(
            sharedStore.fleet.snapshot(lease: environment.configuration.lease).alarms())
        } catch {
          if !life.isFinished { log.report("could not record alarms for webhooks", error) }
        }
      }
      try? await Task.sleep(for: .milliseconds(pause))
    }
  }

  /// Delivers all events that a webhook has not received, until the webhook refuses one or another worker becomes the
  /// leader.
  private func deliver(to webhook: Webhook, from status: WebhookStatus) async {
    defer { delivering.remove(webhook.name) }
    var status = status
    do {
      while let end = try await deliverPage(to: webhook, from: &status) {
        // Skips entries at the end of the page that are not changes. Another program has written these entries.
        guard end != status.position else { continue }
        status = WebhookStatus(name: webhook.name, position: end)
        try await sharedStore.results.save(status)
      }
    } catch {
      if !life.isFinished { log.report("could not deliver to webhook \(webhook.name)", error) }
    }
  }

  /// Delivers the next page of changes to a webhook.
  ///
  /// - Returns: the position of the end of the page; `nil` if no further delivery is due now.
  private func deliverPage(to webhook: Webhook, from status: inout WebhookStatus) async throws -> String? {
    let (changes, end) = try await sharedStore.results.changes(after: status.position)
    for change in changes {
      guard housekeeping.isLeader, !life.isFinished, !Task.isCancelled else { return nil }
      var error: String?
      if WebhookPolicy.concerns(change, webhook) {
        var record: CampaignRecord?
        if case .campaign(let id, _) = change.subject { record = try await sharedStore.campaigns.find(id) }
        error = await webhook.deliver(
          event: change.id, body: WebhookPolicy.body(change, namespace: sharedStore.keys.namespace, record),
          timestamp: Int(now / 1000))
      }
      status = WebhookPolicy.after(status, change, error: error, now: Int(now))
      try await sharedStore.results.save(status)
      if let error {
        log.report("webhook \(webhook.name)", "webhook \(webhook.name) did not accept event \(change.id): \(error)")
        return nil
      }
    }
    return end
  }
}
