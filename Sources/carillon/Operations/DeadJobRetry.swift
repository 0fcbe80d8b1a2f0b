import CampaignStore
import CommandSupport
import Foundation
import PushCore

/// Retries jobs and events of the dead list.
struct DeadJobRetry {
  let store: CampaignStore
  /// The apps that a job may be for.
  let apps: JobApps

  /// Puts a job into the queue again, or an event on its list, and removes it from the dead list.
  ///
  /// - Parameter compute: where a job is read, which may take long; the caller's place unless given.
  /// - Returns: the result in words.
  /// - Throws: the reason why it would fail again; it stays on the dead list.
  func retry(
    _ key: String,
    compute: (@escaping @Sendable () async throws -> Campaign) async throws -> Campaign = { try await $0() }
  ) async throws -> String {
    let dead = try await store.queue.deadJob(key)
    guard !dead.isCut else {
      throw CommandError(
        .failed,
        "job \(key) has \(dead.size) bytes, of which the dead list kept \(dead.job.count): it can't be run from here",
        hint: "submit it again from where it came from: carillon campaign submit FILE")
    }
    if let list = dead.list {
      do {
        try check(dead.job, of: list)
      } catch {
        throw CommandError(
          .input, "event \(key): \(error.description)",
          hint: "push a mended one onto the list \(list.rawValue), and drop this: carillon dead drop \(key)")
      }
      try await store.registry.retryEvent(dead)
      return "the event \(key) is on the list \(list.rawValue) again"
    }
    if let run = dead.id, Repetition.run(run) != nil {
      try await store.queue.retry(run: run, from: key)
      return "\(run) is in the queue again"
    }
    do {
      // A retry is a new job: a time that has passed is an error.
      let now = Int(Date.now.timeIntervalSince1970)
      let campaign = try await compute {
        try await CampaignJob.parse(store.campaigns.resolve(dead.job), apps, now: now)
      }
      if let user = dead.user { try await checkTarget(of: campaign, user) }
      switch try await store.queue.submit(dead.job, as: campaign, from: key) {
      case .new: return "\(campaign.id) is in the queue again"
      case .duplicate: return "\(campaign.id) was submitted again before: nothing changes"
      case .conflict: throw CommandError.conflict(campaign.id)
      }
    } catch {
      // A whole row of them may be under way: say which one.
      var error = CommandError(error)
      if error.code == .input || error.code == .conflict { error.message = "job \(key): \(error.message)" }
      throw error
    }
  }

  /// Refuses the job of one target whose user no longer has the device or has opted out: its text may be that user's own.
  private func checkTarget(of campaign: Campaign, _ user: String) async throws {
    guard case .tokens(let tokens) = campaign.recipients.audience else { return }
    let owners = try await store.registry.owners(of: tokens, store.services.service(ofApp: campaign.app))
    let lists = try await store.audiences.lists(of: user).suppression
    guard owners.allSatisfy({ $0 == user }), !campaign.suppression.contains(where: lists.contains) else {
      throw CommandError(
        .failed, "user \(Excerpt.quoted(user)) has opted out or no longer has the device",
        hint: "drop the job: carillon dead drop KEY")
    }
  }

  /// Reads an event as the worker will that applies it.
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
