import APNs
import APNsSimulator
import CampaignStore
import Foundation
import PushCore
import PushTransport
import PushWorker
import TestKit
import TestPushService
import TestSupport
import Testing

/// Proof of every field that selects recipients, from the job to the requests that the simulator receives. It compares
/// a generated base with a reference that checks every user. The app uses one push service, and then two.
/// `CARILLON_AUDIENCE_USERS` is the size of the base: 200000 for the whole proof.
@Suite(.takesTurns) struct AudienceProofTests {
  private typealias Person = AudienceBase.Person

  /// The share of the app's users in its control group.
  private static let appControl = 0.05

  @Test func campaignsReachExactlyTheirAudience() async throws {
    var seed = Seed("campaignsReachExactlyTheirAudience")
    let users = ProcessInfo.processInfo.environment["CARILLON_AUDIENCE_USERS"].flatMap { Int($0) } ?? 1000
    for services in 1...2 { try await prove(users: users, services: services, &seed) }
  }

  private func prove(users: Int, services: Int, _ seed: inout Seed) async throws {
    var rig = try await WorkerRig(
      engine: .native, partitions: max(8, users / 2000), others: services > 1 ? [TextService()] : [])
    rig.channel.control = Self.appControl
    let text = try await TextServer.start(in: rig.folder)
    if services > 1 { rig.channel.services.append(text.channel) }
    let base = AudienceBase(
      users: users, services: services, now: try await rig.store.time() / 1000, seed: &seed)
    try await base.register(in: rig)
    try await define(in: rig.store)
    let cases = AudienceCase.all(users: users)
    for one in cases { try await submit(one, to: rig) }
    try await send(rig)
    var sent = 0
    for one in cases { sent += try await hold(one, base, rig, seed.value) }
    // Receipts of users, and campaigns that depend on receipts and on outcomes.
    let openers = Set(base.people.filter { drawn($0.user, "opens") < 0.4 }.map(\.user))
    for start in stride(from: 0, to: users, by: 1000) {
      let page = base.people[start..<min(start + 1000, users)].map(\.user).filter(openers.contains)
      try await rig.store.results.apply(page.map { ReceiptEvent(.opened, campaign: "algebra", user: $0) })
    }
    sent += try await followUp(base, rig, openers, seed.value)
    let counters = await rig.simulator.counters()
    let others = await text.server.book.accepted
    expect(counters.accepted + others.count == sent && others.isEmpty == (services == 1), "seed \(seed.value)")
    expect(counters.duplicates, is: 0, "seed \(seed.value)")
    await text.server.stop()
  }

  private func submit(_ one: AudienceCase, to rig: WorkerRig) async throws {
    try await rig.submit(one.id, one.more, audience: one.audience, content: #""message":{"body":"hi"}"#)
  }

  private func define(in store: CampaignStore) async throws {
    for (name, expression, condition) in [
      ("fans", "sports & !churned", nil), ("recent", "*", "lastSeen < 30d"), ("elders", "fans & !recent", "age >= 50"),
    ] as [(String, String, String?)] {
      try await store.audiences.define(
        name,
        SegmentDefinition(
          expression: try AudienceExpression(parsing: expression),
          predicate: try condition.map { try DevicePredicate(parsing: $0) }))
    }
  }

  /// Sends everything with two workers. Their guards accept every share of gone devices.
  private func send(_ rig: WorkerRig) async throws {
    let policy = GuardPolicy(threshold: 1, pruneShare: 1, minimum: 10)
    async let first: Void = rig.worker("a", window: 1000, guard: policy).run()
    async let second: Void = rig.worker("b", window: 1000, guard: policy).run()
    _ = try await (first, second)
  }

  /// Returns the users and devices of a case after conditions, lists, sample and the latest device are applied. Limit
  /// and control group are not applied.
  private func meant(_ one: AudienceCase, _ base: AudienceBase) -> [String: [AudienceBase.Device]] {
    var meant: [String: [AudienceBase.Device]] = [:]
    for person in base.people where one.means(person) {
      if !one.isTransactional, person.refuses.all || one.category == "offers" && person.refuses.offers { continue }
      if let sample = one.sample, drawn(person.user, one.id) >= sample, !one.testers.contains(person.user) { continue }
      var devices = person.devices.filter { one.on($0, person) }
      if one.isLatest, let latest = devices.max(by: { base.seenAt($0) < base.seenAt($1) }) { devices = [latest] }
      if !devices.isEmpty { meant[person.user] = devices }
    }
    return meant
  }

  /// Returns the expected counts of a case.
  private func counts(
    of one: AudienceCase, _ base: AudienceBase, meant: Int, users: Int, control: Int
  ) -> AudienceCount {
    var counts = AudienceCount()
    counts.users = users
    counts[.overLimit] = meant - users - control
    let selects = one.selects ?? one.means
    // A user in every segment who has never registered: one for each page of the base.
    let ghost = Person(
      user: "ghost", devices: [], plan: nil, age: nil, tags: [], segments: Set(AudienceBase.segments),
      refuses: (false, false))
    let pages = (base.people.count + 1999) / 2000
    // `*` contains registered users only. The list names one user who is not registered.
    let ghosts = one.audience.contains("\"*\"") ? 0 : one.id == "listed" ? 1 : selects(ghost) ? pages : 0
    counts[one.id == "listed" || one.means(ghost) ? .noDevice : .excluded] += ghosts
    for person in base.people where selects(person) {
      if !one.means(person) {
        counts[.excluded] += 1
      } else if !one.isTransactional, person.refuses.all || one.category == "offers" && person.refuses.offers {
        counts[.suppressed] += 1
      } else if let sample = one.sample, drawn(person.user, one.id) >= sample, !one.testers.contains(person.user) {
        counts[.notSampled] += 1
      } else if !person.devices.contains(where: { one.on($0, person) }) {
        counts[.notMatching] += 1
      }
    }
    return counts
  }

  private func isControl(_ user: String, of one: AudienceCase) -> Bool {
    guard !one.isTransactional, !one.testers.contains(user) else { return false }
    return drawn(user, "control of app news") < Self.appControl
      || one.control.map { drawn(user, "control of campaign " + one.id) < $0 } ?? false
  }

  /// Compares the result of a campaign with its expected audience.
  ///
  /// - Returns: the number of its accepted pushes.
  private func hold(_ one: AudienceCase, _ base: AudienceBase, _ rig: WorkerRig, _ seed: UInt64) async throws -> Int {
    let meant = meant(one, base)
    let results = try await rig.results(one.id)
    let record = try #require(try await rig.store.campaigns.show(one.id))
    var control: Set<String> = []
    try await rig.store.expansion.forEachControlUser(of: one.id) { control.formUnion($0) }
    let reached = Set(results.map(\.user))
    let taken = reached.union(control)
    expect(record.state == .completed && record.counters.targets == results.count, "\(one.id), seed \(seed)")
    if let limit = one.limit {
      expect(taken.count == min(limit, meant.count) && taken.isSubset(of: meant.keys), "\(one.id), seed \(seed)")
      let seen = meant.mapValues { $0.map { base.seenAt($0) }.max() ?? 0 }
      let worst = seen.filter { taken.contains($0.key) }.values.min() ?? 0
      let best = seen.filter { !taken.contains($0.key) }.values.max() ?? 0
      // `limit` is accurate to 1/128. An excluded user was seen later than a selected one by at most 1/128 of the time
      // since the selected one was seen.
      expect(
        best <= worst || (best - worst) * 128 <= UInt64(record.times.createdAt) - worst, "\(one.id), seed \(seed)")
    } else {
      expect(taken, is: Set(meant.keys), "\(one.id), seed \(seed)")
    }
    expect(control, is: taken.filter { isControl($0, of: one) }, "\(one.id), seed \(seed)")
    expect(record.counters.control, is: control.count, "\(one.id)")
    expect(record.counters.resent, is: 0, "\(one.id)")
    // Each device of each recipient occurs once, and no other device does.
    let expected = Set(reached.flatMap { meant[$0] ?? [] }.map(\.token))
    let tokens = results.compactMap(\.token).map { token in
      String(decoding: token.bytes.count < 32 ? token.bytes : Hex.encode(token.bytes), as: UTF8.self)
    }
    expect(Set(tokens) == expected && tokens.count == expected.count, "\(one.id), seed \(seed)")
    let gone = reached.flatMap { meant[$0] ?? [] }.count(where: \.isGone)
    expect(record.counters.outcomes[.unregistered] ?? 0 == gone, "\(one.id), seed \(seed)")
    let counts = counts(of: one, base, meant: meant.count, users: reached.count, control: control.count)
    expect(record.counters.audience, is: counts, "\(one.id), \(record.counters.audience.reasons), seed \(seed)")
    try await holdVariants(one, record, results, rig, seed)
    return results.count { $0.outcome == .accepted }
  }

  /// Returns the variant of a user: by weight, or the winner after the stage that determines it.
  private func variant(_ user: String, of one: AudienceCase, winner: Int?) -> Int? {
    guard !one.weights.isEmpty else { return nil }
    if let tested = one.tested, drawn(user, "stage of campaign " + one.id) >= tested { return winner }
    let share = drawn(user, "variant of campaign " + one.id) * one.weights.reduce(0, +)
    var sum = 0.0
    return one.weights.firstIndex { weight in
      sum += weight
      return share < sum
    }
  }

  /// Compares the variants and their counts with the weights.
  private func holdVariants(
    _ one: AudienceCase, _ record: CampaignRecord, _ results: [TargetResult], _ rig: WorkerRig, _ seed: UInt64
  ) async throws {
    let winner = try await rig.store.campaigns.decision(of: one.id)?.winner
    for result in results {
      expect(result.variant, is: variant(result.user, of: one, winner: winner), "\(one.id), seed \(seed)")
    }
    guard !one.weights.isEmpty, let (_, job) = try await rig.store.campaigns.findWithJob(one.id),
      let variants = CampaignJob.variants(of: job, campaign: one.id)
    else { return }
    let counts = try await rig.store.campaigns.variantCounts(of: record, variants)
    for (place, count) in zip(one.weights.indices, counts) {
      let own = results.filter { $0.variant == place }
      expect(count.targets, is: own.count, "\(one.id), seed \(seed)")
      for outcome in Outcome.allCases {
        expect(count.outcomes[outcome] ?? 0 == own.count { $0.outcome == outcome }, "\(one.id), seed \(seed)")
      }
    }
    expect(try await rig.store.campaigns.decision(of: one.id) == nil || one.tested != nil, "\(one.id)")
  }

  /// Runs campaigns that refer to the campaign `algebra`: to users who got or did not get it, who opened or did not
  /// open it, and to all others.
  private func followUp(
    _ base: AudienceBase, _ rig: WorkerRig, _ openers: Set<String>, _ seed: UInt64
  ) async throws -> Int {
    let results = try await rig.results("algebra")
    let accepted = Set(results.filter { $0.outcome == .accepted }.map(\.user))
    let gone = Set(results.filter { $0.outcome == .unregistered }.map(\.user))
    let cases = [
      AudienceCase(id: "corrected", audience: #"{"campaign":"algebra"}"#, means: { accepted.contains($0.user) }),
      AudienceCase(
        id: "missed", audience: #"{"campaign":"algebra","outcome":"unregistered"}"#, means: { gone.contains($0.user) }),
      AudienceCase(
        id: "unopened", audience: #"{"campaign":"algebra","opened":false}"#,
        means: { accepted.contains($0.user) && !openers.contains($0.user) }),
      AudienceCase(
        id: "others", audience: #"{"segment":"vip","exclude":{"campaign":"algebra","opened":true}}"#,
        means: { $0.segments.contains("vip") && !(accepted.contains($0.user) && openers.contains($0.user)) },
        selects: { $0.segments.contains("vip") }),
    ]
    for one in cases { try await submit(one, to: rig) }
    try await send(rig)
    var sent = 0
    for one in cases { sent += try await hold(one, base, rig, seed) }
    return sent
  }
}
