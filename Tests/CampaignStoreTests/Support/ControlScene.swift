@testable import CampaignStore
import APNs
import Foundation
import PushCore
import Redis
import TestKit
import TestPushService
import TestSupport
import Testing

/// A campaign of one kind on a real Redis, and workers that send its pushes without a network.
struct ControlScene {
  /// Kind of campaign.
  enum Kind: String, CaseIterable, Sendable {
    case test = "test send to listed users, then approval"
    case canary = "canary with wait and `maxFailures`"
    case winner = "stage with a winner"
    case also = "`also`"
    case legs = "legs of two services"
    case stagedLegs = "stages, legs of two services"
    case recurring = "recurring, each run with stages"

    var hasStages: Bool { self != .also && self != .legs }
    var hasLegs: Bool { self == .legs || self == .stagedLegs }

    /// Members of the job.
    fileprivate var members: String {
      let rest =
        switch self {
        case .test: #""stages":[{"users":["u0","u1","u2","u3","u4","u5"],"approval":true}]"#
        case .canary, .stagedLegs: #""stages":[{"share":0.4,"wait":"1h","maxFailures":0.1}]"#
        case .winner:
          #""stages":[{"share":0.4,"wait":"1h","winner":{"by":"accepted","minimum":1,"otherwise":"y"}}],"#
            + #""variants":[{"name":"x"},{"name":"y","apns":{"payload":{"n":1}}}]"#
        case .also: #""also":["widgets"]"#
        case .legs: ""
        case .recurring: #""repeat":{"cron":"0 * * * *"},"stages":[{"share":0.4,"wait":"1h"}]"#
        }
      let content = hasLegs ? #""message":{"body":"Hi"}"# : #""apns":{"payload":{"aps":{"alert":"hi"}}}"#
      return content + (rest.isEmpty ? "" : "," + rest)
    }
  }

  /// State of a campaign. A campaign without stages has no gate.
  enum Moment: String, CaseIterable, Sendable {
    case before = "before its first part"
    case during = "during its first part"
    case between = "between its parts"
    case after = "after its first part"
  }

  /// A run of a recurring campaign has an id with its time, and the id selects the users of a stage. With this number,
  /// each slice of a stage has three users for practically every time.
  static let users = 72
  private static let text = TextService()
  private static let hour = 3_600_000
  private static let id = "a"

  let kind: Kind
  let world: TestStore
  /// The number of pushes by part and user.
  private(set) var pushes: [String: [String: Int]] = [:]
  /// The target whose push a worker has sent without recording the answer.
  private(set) var doubtful: (part: String, user: String)?
  /// The slice that this worker holds.
  private var held: (slice: SliceReference, ledger: SliceLedger)?

  /// Creates a campaign and brings it to a moment.
  ///
  /// - Parameter needsApproval: whether the campaign waits for approval then.
  init(_ kind: Kind, _ moment: Moment, needsApproval: Bool) async throws {
    self.kind = kind
    let services: [any PushService] = [TestStore.service] + (kind.hasLegs ? [Self.text] : [])
    world = try await TestStore(
      on: .single, partitions: 2,
      services: PushServices(
        standard: TestStore.service, others: Array(services.dropFirst()), apps: ["news": services]))
    try await register()
    let planned = try await world.store.time() / 1000 + (moment == .before ? Self.hour : -1000)
    let start = kind == .recurring ? "" : #","sendAt":"\#(Timestamp.format(milliseconds: planned))""#
    let job = Array(
      #"{"id":"\#(Self.id)","app":"news","audience":{"segment":"*"},"submittedBy":"ada",\#(kind.members)\#(start)}"#
        .utf8)
    let campaign = try CampaignJob.parse(job, .any(services))
    try await world.storeSubmitter(of: job, campaign)
    let waits = needsApproval && moment == .before && kind != .recurring
    let answer = try await world.store.queue.activate(
      campaign, job: job, worker: "w", approval: waits ? "it is large" : nil)
    expect(answer, is: .new)
    guard moment != .before else { return }
    if kind == .recurring { try await beginRun() }
    if moment == .during { try await sendSome() } else { try await endFirstPart() }
    if moment == .after {
      if kind.hasStages { try await openGate() }
      try await sendSome()
    }
    if needsApproval { try await askForApproval(moment) }
  }

  /// Registers devices for all parts: each user has a device for each service, and one for widgets.
  private func register() async throws {
    try await world.registerUsers(0..<Self.users)
    var more: [DeviceRegistration] = []
    for number in 0..<Self.users {
      if kind == .also {
        var device = TestStore.device(Self.users + number)
        device.kind = .widgets
        more.append(DeviceRegistration(user: "u\(number)", device: device))
      }
      if kind.hasLegs {
        var device = DeviceRecord(token: Array("t:\(number)".utf8), service: Self.text.name)
        (device.app, device.registeredAt) = ("news", 1000)
        more.append(DeviceRegistration(user: "u\(number)", device: device))
      }
    }
    if !more.isEmpty { try await world.store.registry.register(more) }
  }

  // MARK: State

  /// The campaign with the parts: for a recurring campaign its run, or the campaign itself before its first run.
  func campaign() async throws -> CampaignRecord {
    let lead = try #require(try await world.store.campaigns.show(Self.id))
    guard let run = lead.repetition?.lastRun, let record = try await world.store.campaigns.show(run) else {
      return lead
    }
    return record
  }

  /// The states of the campaign and of its parts, as `paused: 1 completed, rest paused`. For a recurring campaign, its
  /// own state comes first.
  func states() async throws -> String {
    let record = try await campaign()
    let parts = record.parts.map { "\(Self.name(of: $0.id)) \($0.state)" }
    let text = parts.isEmpty ? "\(record.state)" : "\(record.state): " + parts.joined(separator: ", ")
    guard kind == .recurring, record.id != Self.id else { return text }
    let lead = try #require(try await world.store.campaigns.find(Self.id))
    return "\(lead.state); run \(text)"
  }

  /// Returns the name of a part within its campaign.
  static func name(of part: String) -> String { CampaignID(part).part?.description ?? part }

  /// Returns findings of the check of all keys.
  func problems() async throws -> [String] {
    var findings: [StoreFinding] = []
    _ = try await world.store.repair.check(pause: .zero) { findings += $0 }
    return findings.map { "\($0)" }
  }

  // MARK: Moments

  private func beginRun() async throws {
    try await makeRunDue()
    _ = try await world.store.queue.promote([Self.id])
    _ = try await takeInRun()
  }

  /// Makes the next run of the recurring campaign due, whatever its state.
  private func makeRunDue() async throws {
    let due = try await world.store.time() / 1000 / Self.hour * Self.hour
    try await world.command("HSET", world.keys.campaign(Self.id), "sendAt", due)
    try await world.command("ZADD", world.keys.schedule, due, Self.id)
  }

  /// Returns whether there was a run to take in.
  private func takeInRun() async throws -> Bool {
    guard try await world.command("LLEN", world.keys.campaigns).integer != 0 else { return false }
    let request = try #require(try await world.store.queue.awaitJob(worker: "w", seconds: 1, now: 1))
    let id = try #require(RunRequest.id(request))
    guard let job = try await world.store.queue.job(ofRun: id) else {
      try await world.store.queue.dismissRun(request, worker: "w")
      return true
    }
    let campaign = try CampaignJob.parse(job, .any([TestStore.service]), as: id)
    _ = try await world.store.queue.activate(campaign, job: job, request: request, worker: "w")
    return true
  }

  /// Sends some pushes of a slice. The worker holds the slice, and has not recorded the answer to its last push.
  private mutating func sendSome() async throws {
    let slice = try #require(try await world.store.slices.dequeueSlice(worker: "one"))
    let (ledger, count, _) = try await claim(slice, "one")
    try #require(count >= 3)
    try await ledger.commit(credit: 3)
    try await record([0, 1, 2], of: ledger)
    try await ledger.commit(.accepted, 0..<2)
    let user = try await ledger.targets(from: 2, count: 1).user(0)
    doubtful = (slice.campaign, String(decoding: user, as: UTF8.self))
    held = (slice, ledger)
  }

  /// Ends the first part. Slices of other parts stay open.
  private mutating func endFirstPart() async throws {
    let first = try #require(try await campaign().parts.first?.id)
    var others: [SliceReference] = []
    while let slice = try await world.store.slices.dequeueSlice(worker: "two") {
      if kind.hasStages || slice.campaign == first { try await send(slice, "two") } else { others.append(slice) }
    }
    for slice in others { try await world.store.slices.requeue(slice, lane: .normal, worker: "two") }
  }

  private func openGate() async throws {
    try await letHourPass()
    for _ in 0..<2 {
      for (id, dueAt) in try await world.store.dueTasks("lead").gates {
        if case .paused = try await world.store.campaigns.checkGate(of: id, dueAt: dueAt) {
          expect(try await world.store.campaigns.approve(id, by: "bob"), is: .active)
        }
      }
    }
  }

  /// Pauses the campaign like a worker that finds that it needs approval.
  private func askForApproval(_ moment: Moment) async throws {
    let (campaigns, record) = (world.store.campaigns, try await campaign())
    guard moment == .between else {
      let part = try #require(record.parts.last { $0.state == .active }?.id)
      try await campaigns.control(part, .pause, reason: "it is large", needsApproval: true, everyLeg: true)
      return
    }
    if kind == .test {
      // The gate itself asks for the approval.
      for (id, dueAt) in try await world.store.dueTasks("lead").gates {
        _ = try await campaigns.checkGate(of: id, dueAt: dueAt)
      }
    } else {
      try await campaigns.control(record.id, .pause, reason: "it is large", gate: 0, needsApproval: true)
    }
  }

  // MARK: Work

  /// Lets an hour pass: a scheduled campaign, a run and a gate may be due.
  ///
  /// - Parameter forcesRun: whether the next run is put into the schedule, although the campaign may have left it.
  func letHourPass(forcesRun: Bool = false) async throws {
    let (keys, record) = (world.keys, try await campaign())
    if kind == .recurring, record.id == Self.id || forcesRun {
      try await makeRunDue()
    } else if kind != .recurring {
      let now = try await world.store.time() / 1000
      for id in [record.id] + record.parts.map(\.id) {
        try await world.command("HSET", keys.campaign(id), "sendAt", now - 1000)
        try await world.command("ZADD", keys.schedule, "XX", now - 1000, id)
      }
    }
    for part in record.parts where part.times.finishedAt != nil {
      try await world.command("HINCRBY", keys.campaign(part.id), "finishedAt", -Self.hour)
    }
    try await world.command("ZADD", keys.gates, "XX", 1, record.id)
  }

  /// Lets the worker that holds a slice record its last answer and return the slice.
  ///
  /// - Parameter dies: whether it dies instead, so that the target stays in doubt.
  mutating func release(dies: Bool) async throws {
    guard let (slice, ledger) = held else { return }
    held = nil
    if dies {
      try await world.endLease(slice.campaign, slice.partition)
    } else {
      try await ledger.commit([2: .terminal(.accepted)])
      try await ledger.unclaim()
    }
    try await world.store.slices.requeue(slice, lane: .normal, worker: "one")
  }

  /// Does the work of a fleet until nothing is due.
  mutating func work() async throws {
    var isIdle = false
    while !isIdle {
      isIdle = true
      let due = try await world.store.dueTasks("lead")
      if try await !world.store.queue.promote(due.scheduled).isEmpty { isIdle = false }
      if try await takeInRun() { isIdle = false }
      for (id, dueAt) in due.gates {
        if case .opened = try await world.store.campaigns.checkGate(of: id, dueAt: dueAt) { isIdle = false }
      }
      while let slice = try await world.store.slices.dequeueSlice(worker: "three") {
        try await send(slice, "three")
        isIdle = false
      }
    }
  }

  /// Works until the campaign has ended. A person gives the approvals that it needs.
  mutating func finish() async throws {
    for _ in 0..<6 where try await campaign().times.finishedAt == nil {
      if try await campaign().waitsForApproval { _ = try await world.store.campaigns.approve(Self.id, by: "grace") }
      try await letHourPass()
      try await work()
    }
  }

  /// Claims a slice, and expands it unless its campaign is cancelled.
  private func claim(
    _ slice: SliceReference, _ worker: String
  ) async throws -> (ledger: SliceLedger, count: Int, SliceProgress) {
    let (record, job) = try #require(try await world.store.campaigns.findWithJob(slice.campaign))
    let services = world.store.services
    let part = try record.campaign(job, record.apps(in: services))
    let together = part.expandedTogether
    let ledger = SliceLedger(
      store: world.store, slice: slice, lease: TestStore.timeout, app: "news", service: services[part.service],
      parts: together)
    guard case .claimed(let progress) = try await ledger.claim(worker: worker) else {
      throw TestSupportError("slice \(slice) could not be claimed")
    }
    guard !progress.isSealed, record.state != .cancelled else { return (ledger, progress.count, progress) }
    let filters = try (together.isEmpty ? [part.id] : together).map { id in
      let leg = try record.campaign(job, record.apps(in: services), leg: id)
      return DeviceFilter(
        leg, service: services[leg.service] ?? TestStore.service, environment: "production", start: record.start)
    }
    let targets = try #require(
      try await world.store.expansion.expand(
        ledger, of: part, filter: DeviceFilter(joining: filters[0], Array(filters.dropFirst()))))
    return (ledger, targets.count, progress)
  }

  /// Sends a slice to its end, or closes it if its campaign is cancelled.
  private mutating func send(_ slice: SliceReference, _ worker: String) async throws {
    let (ledger, count, progress) = try await claim(slice, worker)
    let isCancelled = try await world.store.campaigns.find(slice.campaign)?.state == .cancelled
    if !isCancelled {
      // The new owner sends the targets in doubt again.
      let records = try await ledger.records(from: 0, count: progress.granted).records
      var indexes = records.indices.filter { records[$0].state == .granted }
      indexes += progress.granted..<count
      if count > progress.granted { try await ledger.commit(credit: count - progress.granted) }
      try await record(indexes, of: ledger)
      try await ledger.commit(Dictionary(uniqueKeysWithValues: indexes.map { ($0, .terminal(.accepted)) }))
    }
    let counters = try #require(try await ledger.close(isCancelled ? .cancel : .finish).counters)
    _ = try await world.store.slices.finish(slice, counters: counters, lane: .normal, worker: worker)
  }

  /// Counts pushes to these targets.
  private mutating func record(_ indexes: [Int], of ledger: SliceLedger) async throws {
    guard let last = indexes.max() else { return }
    let chunk = try await ledger.targets(from: 0, count: last + 1)
    for index in indexes {
      let user = String(decoding: chunk.user(index), as: UTF8.self)
      pushes[ledger.slice.campaign, default: [:]][user, default: 0] += 1
    }
  }
}
