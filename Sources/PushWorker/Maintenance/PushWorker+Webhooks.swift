import CampaignStore
import EventLoop
import PushTransport

/// Delivery of events to webhooks, by the housekeeper. Each webhook gets the changes in their order and at its own pace: no
/// webhook waits for another one.
extension PushWorker {
  /// Notes webhooks that are new, so that they get every change from now on. Called before the worker takes anything.
  func registerWebhooks() async throws {
    try await control.results.standings(of: configuration.webhooks.map(\.name))
  }

  /// Runs beside the worker's other loops, and nobody waits for it: what was not noted as delivered is delivered again.
  func webhookLoop() async {
    await withDiscardingTaskGroup { group in
      if configuration.webhooks.contains(where: { $0.kinds.contains(.alarms) }) {
        group.addTask { await self.alarmLoop() }
      }
      while !life.isFinished, !Task.isCancelled {
        if housekeeping.isMine {
          do {
            let (standings, latest) = try await control.results.standings(of: configuration.webhooks.map(\.name))
            for (webhook, standing) in zip(configuration.webhooks, standings)
            where WebhookRound.isDue(standing, latest: latest, now: Int(now))
              && webhooksUnderWay.insert(webhook.name).inserted
            {
              group.addTask { await self.deliver(to: webhook, from: standing) }
            }
          } catch {
            if !life.isFinished { log.report("could not look for events of webhooks", error) }
          }
        }
        try? await Task.sleep(for: .milliseconds(WebhookRound.interval))
      }
    }
  }

  /// Notes alarms that were raised or cleared. Apart from the deliveries: it looks at the whole fleet, which takes a while.
  private func alarmLoop() async {
    while !life.isFinished, !Task.isCancelled {
      var pause = WebhookRound.interval
      if housekeeping.isMine {
        pause = WebhookRound.alarmInterval
        do {
          try await control.results.note(control.fleet.snapshot(lease: configuration.lease).alarms())
        } catch {
          if !life.isFinished { log.report("could not note alarms for webhooks", error) }
        }
      }
      try? await Task.sleep(for: .milliseconds(pause))
    }
  }

  /// Delivers everything that a webhook has not got yet, until it refuses, or another worker keeps house.
  private func deliver(to webhook: Webhook, from standing: WebhookStanding) async {
    defer { webhooksUnderWay.remove(webhook.name) }
    var standing = standing
    do {
      while let end = try await deliverPage(to: webhook, from: &standing) {
        // Entries that are no changes, which nothing of ours has written, are passed over.
        guard end != standing.position else { continue }
        standing = WebhookStanding(name: webhook.name, position: end)
        try await control.results.keep(standing)
      }
    } catch {
      if !life.isFinished { log.report("could not deliver to webhook \(webhook.name)", error) }
    }
  }

  /// - Returns: where the page ends; `nil` when nothing more is to be delivered now.
  private func deliverPage(to webhook: Webhook, from standing: inout WebhookStanding) async throws -> String? {
    let (changes, end) = try await control.results.changes(after: standing.position)
    for change in changes {
      guard housekeeping.isMine, !life.isFinished, !Task.isCancelled else { return nil }
      var error: String?
      if WebhookRound.concerns(change, webhook) {
        var record: CampaignRecord?
        if case .campaign(let id, _) = change.subject { record = try await control.campaigns.find(id) }
        error = await webhook.deliver(
          event: change.id, body: WebhookRound.body(change, namespace: control.keys.namespace, record),
          timestamp: Int(now / 1000))
      }
      standing = WebhookRound.after(standing, change, error: error, now: Int(now))
      try await control.results.keep(standing)
      if let error {
        log.report("webhook \(webhook.name)", "webhook \(webhook.name) was not told of event \(change.id): \(error)")
        return nil
      }
    }
    return end
  }
}
