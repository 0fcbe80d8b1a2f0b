import CampaignStore
import EventLoop
import PushCore

/// Gets permits for campaigns, apps and quotas that have a rate. Redis grants permits for a short time only.
final class RateService: WorkerPart {
  let environment: WorkerEnvironment
  private let slices: SliceTable
  private let campaigns: CampaignTable
  private var table: RateTable

  init(_ environment: WorkerEnvironment, slices: SliceTable, campaigns: CampaignTable) {
    self.environment = environment
    self.slices = slices
    self.campaigns = campaigns
    table = RateTable(environment.configuration.apps)
  }

  /// Returns the rates that limit a campaign.
  func limits(of campaign: Campaign, _ app: AppChannel, _ channel: ServiceChannel) -> [RateLimit] {
    table.limits(of: campaign, app, channel)
  }

  /// The quotas that this worker has used, for metrics.
  var quotas: [WorkerMetrics.Quota] {
    table.quotas.sorted { $0.key < $1.key }
      .map { .init(name: $0.key, perSecond: $0.value.perSecond, exceeded: $0.value.quotaMonitor.exceeded) }
  }

  /// Records that a push of a campaign exceeded its service's quota.
  ///
  /// - Parameter perMinute: limit in pushes per minute that the service named; `nil` if it named none.
  func record(exceeded perMinute: Int?, by context: CampaignContext) {
    guard let quota = context.facts.channel.service.quota, let limit = table.quotas[quota.name],
      let report = limit.record(exceeded: perMinute, now: EventLoop.now)
    else { return }
    loop.start { await self.send(report, about: quota, limit) }
  }

  private func send(_ report: QuotaReport, about quota: ServiceQuota, _ limit: RateLimit) async {
    do {
      let answer = try await sharedStore.limits.lease(
        0, of: limit.subject, at: limit.rate, returned: 0, report: report)
      guard limit.shouldLogReport(EventLoop.now) else { return }
      log.write(.quotaExceeded(quota: quota.name, perSecond: answer.perSecond))
    } catch {
      log.report("could not report that the quota \(quota.name) is used up", error)
    }
  }

  /// Adapts the rates of apps to the health of their backends.
  ///
  /// - Returns: whether a rate has changed.
  func follow(_ statuses: [String: BackendStatus], of known: [String: AppBackend]) -> Bool {
    table.follow(statuses, of: known, now: Int(now))
  }

  /// Returns the number of pushes that a campaign's rates permit now. After the campaign's deadline the rates don't
  /// apply, because the remaining targets are recorded without a push.
  func allowance(of context: CampaignContext) -> Int {
    if let deadline = context.schedule.deadline, deadline * 1000 <= Int(now) { return .max }
    return context.facts.limits.allowance
  }

  /// Returns the number of targets of a campaign that the worker needs to hold; `nil` if the window is the tighter
  /// limit.
  func enough(of context: CampaignContext) -> Int? {
    guard !context.facts.limits.isEmpty, let ahead = context.facts.limits.ahead else { return nil }
    return ahead < 2 * environment.configuration.window ? ahead : nil
  }

  /// Releases the permits that are due, and requests more from Redis if slices can use them.
  func refresh(_ now: UInt64) {
    var demands: [(limit: RateLimit, wanted: Int)] = []
    for session in slices.sessions where session.context.facts.limits.contains(where: \.isInForce) {
      let wanted = wanted(by: session, now)
      for limit in session.context.facts.limits where limit.isInForce {
        if let position = demands.lastIndex(where: { $0.limit === limit }) {
          demands[position].wanted += wanted
        } else {
          demands.append((limit, wanted))
        }
      }
    }
    for (limit, wanted) in demands {
      limit.lease.advance(now)
      // Wakes the claim loop early, so that the worker prepares the next slice while it sends the present one.
      if limit.runsShort(of: wanted) { wakeClaims() }
      if let request = limit.lease.request(wanted: wanted, now: now) {
        loop.start { await self.ask(request, limit) }
      }
    }
  }

  /// Returns the number of pushes that a slice could send without its rates.
  private func wanted(by session: SliceSession, _ now: UInt64) -> Int {
    let context = session.context
    guard session.intent == .send, session.isReady, session.claim.graceEnd <= now else { return 0 }
    // One push at a time is enough to find out when the pool can send again.
    if context.facts.route.isStuck { return min(1, session.sendable(now)) }
    let trial = context.guard.isUndecided ? max(0, context.trial.allowance) : .max
    return min(session.sendable(now), trial)
  }

  /// Returns the number of held slices under a rate whose targets are known, and the number of their targets.
  private func known(of limit: RateLimit) -> (slices: Int, targets: Int) {
    slices.sessions.reduce((0, 0)) { known, session in
      guard let count = session.targets.count, session.context.facts.limits.contains(where: { $0 === limit }) else {
        return known
      }
      return (known.0 + 1, known.1 + count)
    }
  }

  private func ask(_ request: RateLease.Request, _ limit: RateLimit) async {
    do {
      let answer = try await sharedStore.limits.lease(
        request.wanted, of: limit.subject, at: limit.rate, returned: request.returned, known: known(of: limit))
      limit.take(answer, now: EventLoop.now)
    } catch {
      limit.take(nil, now: EventLoop.now)
      log.report("could not get permits for \(limit.subject)", error)
    }
    // If this worker released all slices under this rate before the permits arrived, it returns the permits.
    if !slices.sessions.contains(where: { $0.context.facts.limits.contains { $0 === limit } }) {
      returnUnused(of: limit)
    }
    wakeSlices(takingMore: false)
  }

  /// Returns the unused permits of a campaign to Redis, after this worker released its last slice of the campaign.
  func returnUnused(of context: CampaignContext) {
    for limit in context.facts.limits where limit.isInForce {
      let isNeeded = slices.sessions.contains { $0.context.facts.limits.contains { $0 === limit } }
      if !isNeeded { returnUnused(of: limit) }
    }
  }

  private func returnUnused(of limit: RateLimit) {
    guard let request = limit.lease.finalRequest(EventLoop.now) else { return }
    loop.start { await self.ask(request, limit) }
  }

  // MARK: Bounds

  /// Whether the worker holds the maximum number of slices that wait for their rates.
  private var isCrowded: Bool {
    slices.sessions.count(where: { enough(of: $0.context) != nil }) >= SliceSelection.maximumLimited
  }

  /// Returns the campaigns whose slices must not be taken, because too many held slices wait for their rates.
  func campaignsWithoutPlace() -> Set<String> {
    isCrowded ? Set(campaigns.contexts.filter { enough(of: $0.value) != nil }.keys) : []
  }

  /// Gives a slice back if the worker already holds enough targets of its campaign. The worker did not know the
  /// campaign's rate when it took the slice.
  ///
  /// - Returns: whether the slice was given back.
  func leaves(_ reference: SliceReference, _ context: CampaignContext) async throws -> Bool {
    guard let enough = enough(of: context) else { return false }
    let others = slices.sessions.filter { $0.slice.campaign == reference.campaign }
    // If several slices are taken at the same time, one of them continues.
    let hasEnough =
      others.reduce(0) { $0 + $1.ungranted } >= enough || others.contains { !$0.isReady }
      || slices.pending(of: reference.campaign).contains { $0.partition < reference.partition }
    guard isCrowded || hasEnough else { return false }
    try await sharedStore.slices.requeue(
      reference, lane: Lane.allCases[context.facts.account.lane], worker: environment.configuration.name)
    return true
  }

  /// Returns the reason and the start of the wait in two cases: only a rate delays the campaign's pushes, or the
  /// service refuses them because of a quota. Returns `nil` in all other cases.
  func obstacle(of context: CampaignContext, _ now: UInt64) -> (reason: String, since: UInt64)? {
    if !context.progress.isPaused, let refusal = context.facts.limits.lazy.compactMap({ $0.refusal(now: now) }).first,
      now - refusal.since >= Self.shortestWait
    {
      return refusal
    }
    guard let obstacle = context.facts.limits.obstacle, now - obstacle.since >= Self.shortestWait,
      slices.sessions.contains(where: { $0.context === context && wanted(by: $0, now) > 0 })
    else { return nil }
    return obstacle
  }

  /// Minimum time in ns for which a rate delays pushes before the worker reports the rate. A shorter delay would end
  /// before an operator reads the report.
  private static let shortestWait: UInt64 = 1_000_000_000
}
