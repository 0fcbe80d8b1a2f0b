import CampaignStore
import CommandSupport
import Foundation
import PushCore

/// Retries jobs and events of the dead list.
struct DeadJobRetry {
  let store: CampaignStore
  /// Apps for which a job is allowed.
  let apps: JobApps

  /// Puts a dead job into the queue or a dead event on its list, and removes the entry from the dead list.
  ///
  /// - Parameter compute: runs the parsing of a job, which may take long. By default, it runs in the calling task.
  /// - Returns: the result as text.
  /// - Throws: the reason why the entry would fail again. In this case, the entry remains on the dead list.
  func retry(
    _ key: String,
    compute: (@escaping @Sendable () async throws -> Campaign) async throws -> Campaign = { try await $0() }
  ) async throws -> String {
    let dead = try await store.queue.deadJob(key)
    guard !dead.isCut else {
      throw CommandError(
        .failed,
        "job \(key) is incomplete: it has \(dead.size) bytes, and the dead list stores only \(dead.job.count)",
        hint: "submit the original file again: carillon campaign submit FILE")
    }
    if let list = dead.list {
      do {
        try check(dead.job, of: list)
      } catch {
        throw CommandError(
          .input, "event \(key): \(error.description)",
          hint: "push a corrected one onto the list \(list.rawValue), and drop this entry: carillon dead drop \(key)")
      }
      try await store.registry.retryEvent(dead)
      return "the event \(key) is back on the list \(list.rawValue)"
    }
    if let run = dead.id, Repetition.run(run) != nil {
      try await store.queue.retry(run: run, from: key)
      return "\(run) is back in the queue"
    }
    do {
      // The retry submits a new job, so a time in the past is an error.
      let now = Int(Date.now.timeIntervalSince1970)
      let campaign = try await compute {
        try await CampaignJob.parse(store.campaigns.resolve(dead.job), apps, now: now)
      }
      if let user = dead.user { try await checkTarget(of: campaign, user) }
      switch try await store.queue.submit(dead.job, as: campaign, from: key) {
      case .new: return "\(campaign.id) is back in the queue"
      case .duplicate: return "\(campaign.id) was submitted again before: nothing changes"
      case .conflict: throw CommandError.conflict(campaign.id)
      }
    } catch {
      // The caller may retry many entries, so the message names the entry.
      var error = CommandError(error)
      if error.code == .input || error.code == .conflict { error.message = "job \(key): \(error.message)" }
      throw error
    }
  }

  /// Throws an error if a job for a single device would have no target, because its user no longer has the device or
  /// has opted out. A worker checks the same before it sends the push.
  private func checkTarget(of campaign: Campaign, _ user: String) async throws {
    guard let token = campaign.recipients.token else { return }
    let owners = try await store.registry.owners(of: [token], store.services.first(of: campaign))
    let lists = try await store.audiences.lists(of: user).suppression
    guard owners == [user], !campaign.suppression.contains(where: lists.contains) else {
      throw CommandError(
        .failed, "user \(Excerpt.quoted(user)) has opted out or no longer has the device",
        hint: "drop the job: carillon dead drop KEY")
    }
  }

  /// Checks an event in the same way as the worker that applies it.
  private func check(_ event: [UInt8], of list: EventList) throws(DeviceRowDraft.Problem) {
    let now = Int(Date.now.timeIntervalSince1970 * 1000)
    switch list {
    case .registrations:
      let names: Set<String>? = if case .known(let apps) = apps { Set(apps.keys) } else { nil }
      let read = try RegistrationEvent(
        parsing: event, DeviceVocabulary(services: store.services, apps: names, now: now))
      if let refusal = read.refusal { throw refusal }
    case .receipts: _ = try ReceiptEvent(parsing: event, now: now)
    }
  }
}
