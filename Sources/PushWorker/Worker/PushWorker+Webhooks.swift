import CampaignStore
import EventLoop
import PushTransport

/// Telling webhooks what changed: the housekeeper does, each one in the order of the changes, until it has been taken.
extension PushWorker {
  /// Runs beside the worker's other loops, and nobody waits for it: what was not noted as told is told again.
  func webhookLoop() async {
    var alarmsSeenAt: UInt64 = 0
    while !life.isFinished, !Task.isCancelled {
      if housekeeping.isMine {
        do {
          let now = EventLoop.now
          if configuration.webhooks.contains(where: { $0.kinds.contains(.alarms) }),
            now >= alarmsSeenAt + WebhookRound.alarmInterval * 1_000_000
          {
            alarmsSeenAt = now
            try await control.note(control.fleet(lease: configuration.lease).alarms())
          }
          try await tellWebhooks()
        } catch {
          if !life.isFinished { log.report("could not tell webhooks", error) }
        }
      }
      try? await Task.sleep(for: .milliseconds(WebhookRound.interval))
    }
  }

  private func tellWebhooks() async throws {
    let standings = try await control.standings(of: configuration.webhooks.map(\.name))
    let now = Int(self.now)
    // One that hangs holds up no other.
    try await withThrowingDiscardingTaskGroup { group in
      for (webhook, standing) in zip(configuration.webhooks, standings) where standing.retryAt <= now {
        group.addTask { try await self.tell(webhook, from: standing) }
      }
    }
  }

  private func tell(_ webhook: Webhook, from standing: WebhookStanding) async throws {
    var standing = standing
    let changes = try await control.changes(after: standing.position).changes
    for change in changes {
      var error: String?
      if WebhookRound.concerns(change, webhook) {
        var record: CampaignRecord?
        if case .campaign(let id, _) = change.subject { record = try await control.campaign(id) }
        error = await webhook.deliver(
          event: change.id, body: WebhookRound.body(change, namespace: control.keys.namespace, record),
          timestamp: Int(now / 1000))
      }
      standing = WebhookRound.after(standing, change, error: error, now: Int(now))
      try await control.keep(standing)
      if let error {
        log.report("webhook \(webhook.name)", "webhook \(webhook.name) was not told of event \(change.id): \(error)")
        return
      }
    }
  }
}
