import PushTransport
import CampaignStore
import EventLoop
import PushCore

/// Campaigns that this worker declines, because every push of them would fail here. The cause may affect only this
/// worker, for example its settings or its network path to the push service. This worker therefore leaves these
/// campaigns to other workers, and pauses a campaign only when every live worker declines it.
final class DeclinedCampaigns: WorkerPart {
  let environment: WorkerEnvironment
  private let slices: SliceTable
  private let recorder: TargetRecorder
  private let pauses: CampaignPauses
  private(set) var declines = Declines()

  init(_ environment: WorkerEnvironment, slices: SliceTable, recorder: TargetRecorder, pauses: CampaignPauses) {
    self.environment = environment
    self.slices = slices
    self.recorder = recorder
    self.pauses = pauses
  }

  /// Whether no campaign is declined.
  var isIdle: Bool { declines.declined.isEmpty }

  /// Declines a campaign, which leaves it to other workers.
  ///
  /// - Parameter hint: the next step for the operator, after the reason, if all live workers decline the campaign.
  func decline(_ id: String, round: Int, _ reason: String, hint: String = ", then resume") {
    let reason = "worker \(environment.configuration.name): \(reason)"
    guard declines.add(id, round: round, reason: reason, hint: hint, at: EventLoop.now) else {
      return
    }
    for session in slices.sessions where session.slice.campaign == id { recorder.stopSending(session, .leave) }
    loop.start { await self.renew(id, isNew: true) }
  }

  /// Repeats to Redis which campaigns this worker declines. Pauses a campaign if all live workers decline it.
  func renewAll() async {
    for id in declines.declined.keys.sorted() { await renew(id) }
  }

  private func renew(_ id: String, isNew: Bool = false) async {
    guard let decline = declines.declined[id] else { return }
    do {
      let answer = try await sharedStore.campaigns.decline(
        id, worker: environment.configuration.name, round: decline.round, timeout: environment.configuration.lease
      )
      switch answer {
      case .unanimous: pauses.pause(id, round: decline.round, decline.reason + decline.hint)
      case .others: if isNew { log.write(.declined(campaign: id, reason: decline.reason)) }
      case .outdated: remove(id, round: decline.round)
      }
    } catch {
      // The next heartbeat repeats the call.
      log.report("could not decline campaign \(id)", error)
    }
  }

  /// Accepts a declined campaign again, because it was resumed or has ended.
  func remove(_ id: String, round: Int) {
    guard declines.declined[id]?.round == round, declines.drop(id) else { return }
    wakeClaims()
  }

  /// Declines every held campaign whose credential was stopped. Nothing is sent with such a credential, so no later
  /// answer would make the worker decline the campaign. The refusal that stopped the credential may have been an answer
  /// to another campaign's push, or to no push.
  func declineForStoppedCredentials() {
    for session in slices.sessions where session.intent == .send {
      let context = session.context
      guard let reason = context.facts.channel.credential.stopped else { continue }
      decline(
        context.campaign.id, round: context.facts.round,
        "\(context.facts.channel.service.title) refuses the credential of app \(context.campaign.app): "
          + "\(context.facts.channel.credential.explain(reason))")
    }
  }
}
