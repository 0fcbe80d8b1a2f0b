import PushCore

/// Every Redis key of the store, by name.
///
/// Two kinds of slot: *control* keys under the hash tag `{namespace}`, *slice* keys under `{namespace:partition}`. A
/// script touches keys of one tag only, so the store also runs on a cluster.
public struct Keyspace: Sendable {
  /// The prefix of all keys: one or more of `A-Za-z0-9_-` (a brace would break the tags).
  public let namespace: String
  /// The number of partitions.
  public let partitions: Int
  private let control: String

  /// - Returns: `nil` when the namespace has other characters, or partitions are not 1 to 16,384.
  public init?(namespace: String, partitions: Int) {
    let allowed = namespace.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
        true
      default: false
      }
    }
    // A cluster has 16,384 slots: more partitions than that could not be spread any further.
    guard allowed, !namespace.isEmpty, (1...16384).contains(partitions) else { return nil }
    self.namespace = namespace
    self.partitions = partitions
    control = "{\(namespace)}:"
  }

  /// What a client of the store is given for `RedisOptions.home`: any control key.
  public var home: String { control }

  // MARK: Control

  /// Hash: what the store was initialised with.
  var store: String { control + "store" }
  /// List: jobs that producers push.
  public var campaigns: String { control + "campaigns" }
  /// List: what producers say of users and devices, or apps of pushes.
  public func events(_ list: EventList) -> String { control + list.rawValue }
  /// List: the job that a worker is taking in.
  func intake(worker: String) -> String { control + "intake:" + worker }
  /// Hash: SHA-1 of a job to the workers that began to take it in, see `beginjob.lua`.
  var attempts: String { control + "attempts" }
  /// String: digest of the job that an id stands for, and whether it was activated.
  func job(_ id: String) -> String { control + "job:" + id }
  /// String: digest of the job that was submitted, and who submitted it.
  func submitter(_ id: String) -> String { control + "submitter:" + id }
  /// Hash: a campaign and its totals.
  func campaign(_ id: String) -> String { control + "campaign:" + id }
  /// List: what was done to a campaign, when and by whom, see `control.lua`.
  func timeline(_ id: String) -> String { control + "timeline:" + id }
  /// Hash: what all workers have leased and were answered during a campaign's guard trial, see `guardtrial.lua`.
  func guardTrial(_ id: String) -> String { control + "trial:" + id }
  /// Hash: the latest answers to a campaign whose guard is open, see `guardwatch.lua`.
  func guardWatch(_ id: String) -> String { control + "watch:" + id }
  /// Hash: how far what a campaign with a rate may send is lent, see `rate.lua`.
  func rate(campaign id: String) -> String { control + "rate:" + id }
  /// Hash: the same of all campaigns of an app.
  func rate(app: String) -> String { control + "apprate:" + app }
  /// Hash: the same of what an app's campaigns may send while its backend is not well.
  func backendRate(app: String) -> String { control + "backendrate:" + app }
  /// Hash: the latest answers to campaigns of an app during their guard trials, see `guardtrial.lua`.
  func answers(app: String) -> String { control + "answers:" + app }
  /// Hash: partition to how many of its users were seen how long ago, for a campaign with a limit, see `rank.lua`.
  func ranking(_ id: String) -> String { control + "ranking:" + id }
  /// Hash: worker to since when and why it can't send a campaign, see `Waiting.swift`.
  func waiting(_ id: String) -> String { control + "waiting:" + id }

  /// Sorted set: the workers that can't send a campaign, by when they last said so, see `object.lua`.
  func objections(_ id: String) -> String { control + "objections:" + id }
  /// Bitmap: the partitions whose slices are finished, and those that have none.
  func finished(_ id: String) -> String { control + "finished:" + id }
  /// List: the partitions whose slices wait for a worker.
  func open(_ id: String) -> String { control + "open:" + id }
  /// List: a ring of campaigns.
  func lane(_ name: String) -> String { control + "lane:" + name }
  /// The rings of all lanes, highest first.
  var lanes: [String] { Lane.allCases.map { lane($0.rawValue) } }
  /// List: references to the slices that a worker holds.
  func processing(worker: String) -> String { control + "processing:" + worker }
  /// Sorted set: workers by their last heartbeat.
  var workers: String { control + "workers" }
  /// Hash: worker to the nonce of the instance that has its name.
  var instances: String { control + "instances" }
  /// Hash: worker to what it says of itself, see `WorkerReport`.
  var reports: String { control + "reports" }
  /// String: the instance that keeps house; expires with its lease.
  var housekeeper: String { control + "housekeeper" }
  /// Hash: where the housekeeper's rounds stand.
  var housekeeping: String { control + "housekeeping" }
  /// Sorted set: references to slices that wait for a retry, by when it is due.
  var parked: String { control + "parked" }
  /// Set: campaigns that have begun and not ended, paused ones too.
  var running: String { control + "running" }
  /// Sorted set: campaigns that are scheduled, by when they begin.
  public var schedule: String { control + "schedule" }
  /// Sorted set: campaigns with a stage that has not begun, by when its gate is looked at next.
  var gates: String { control + "gates" }
  /// Sorted set: campaigns that wait for approval, by when they begin once approved.
  var approvals: String { control + "approvals" }
  /// Number: the control epoch, which every pause, resume and cancel raises.
  var epoch: String { control + "epoch" }
  /// String: there for a moment after a worker noticed that Redis may have lost its last writes.
  var failover: String { control + "failover" }
  /// Sorted set: workers by the control epoch that they have applied.
  var applied: String { control + "applied" }
  /// Sorted set: campaigns that have ended and whose keys have no expiry yet, by their end.
  var ended: String { control + "ended" }
  /// Sorted set: campaigns that have ended, by when their record has expired for sure.
  var expiring: String { control + "expiring" }
  /// Sorted set: campaigns by creation.
  var all: String { control + "all" }
  /// Stream: jobs that could not be run.
  var dead: String { control + "dead" }
  /// Stream: who did what.
  var audit: String { control + "audit" }
  /// Stream: campaigns that changed and alarms, for webhooks.
  var changes: String { control + "changes" }
  /// Hash: webhook to how far it has been told, see `WebhookStanding`.
  var webhooks: String { control + "webhooks" }
  /// Hash: app to how its own backend is, see `Backends`.
  var backends: String { control + "backends" }
  /// Hash: kind and subject of an alarm that is raised to its text.
  var alarms: String { control + "alarms" }
  /// Stream: outcomes and prunes, for a warehouse.
  public var events: String { control + "events" }
  /// List: pruned tokens, for the backend's own database.
  public var feedback: String { control + "feedback" }
  /// Hash: user with an unfinished erasure to its remaining steps (`PendingErasure`).
  var erasing: String { control + "erasing" }
  /// Hash: how far the import of a file has come.
  func importOf(file: String) -> String { control + "import:" + file }
  /// Hash: the versions of a template by their numbers, and `latest`.
  func template(_ name: String) -> String { control + "template:" + name }
  /// Set: names of templates.
  var templates: String { control + "templates" }
  /// Hash: name of a segment that is a rule to the rule, see `define.lua`.
  var definitions: String { control + "definitions" }
  /// Sorted set: Live Activities by when a token of them registered last, ms since the epoch.
  var activities: String { control + "activities" }
  /// Set: names of segments.
  var segments: String { control + "segments" }

  // MARK: Channels

  /// What the fleet is told, see `WakeMessage`.
  var wake: String { control + "wake" }
  /// Where an instance of a worker listens while it lives; nobody says anything there.
  func presence(_ instance: WorkerInstance) -> String { control + "presence:" + instance.name + ":" + instance.nonce }

  /// Where a control key stands that was set aside because it is damaged.
  func aside(_ key: String) -> String { control + "aside:" + key.dropFirst(control.count) }

  // MARK: Slice

  /// Any key of a partition, for who asks where it is.
  func home(of partition: Int) -> String { slice(partition, "") }

  private func slice(_ partition: Int, _ name: String) -> String { "{\(namespace):\(partition)}:\(name)" }

  /// Set: registered users.
  func users(_ partition: Int) -> String { slice(partition, "users") }
  /// Hash: user to device records.
  func devices(_ partition: Int) -> String { slice(partition, "devices") }
  /// Hash: user to attributes as JSON, see `UserAttributes`.
  func attributes(_ partition: Int) -> String { slice(partition, "attributes") }
  /// Hash: user to what the user's apps have sent lately, and the badges, see `pressure.lua`.
  func pressure(_ partition: Int) -> String { slice(partition, "pressure") }
  /// Hash: token in quarantine to why and since when, see `DeviceNotice`.
  func quarantine(_ partition: Int) -> String { slice(partition, "quarantine") }
  /// Hash: token to `at:user`. The partition is the token's, not the user's.
  func owner(_ partition: Int) -> String { slice(partition, "owner") }
  /// Hash: notes of registrations that have not ended, see `bind.lua`. The partition is the token's.
  func moving(_ partition: Int) -> String { slice(partition, "moving") }
  /// Number: how often tokens of the partition were taken from users, see `settle.lua`.
  func taken(_ partition: Int) -> String { slice(partition, "taken") }
  /// String: how many users have lost a device or entered a suppression list, and the fingerprints of the last of them,
  /// see `departures.lua`.
  func departures(_ partition: Int) -> String { slice(partition, "departures") }
  /// Sorted set: which devices left, and which tokens, as digests, by when (ms), see `marks.lua`.
  func removals(_ partition: Int) -> String { slice(partition, "removals") }
  /// Sorted set: digests of users who were erased, by when (ms).
  func erased(_ partition: Int) -> String { slice(partition, "erased") }
  /// Sorted set: users without a device of whom attributes or badges are still kept, by since when (ms).
  func retained(_ partition: Int) -> String { slice(partition, "retained") }
  /// Sorted set: users by when it was said last that they are in a segment, or are not (ms); '' for all of it.
  func stated(_ partition: Int, _ name: String) -> String { slice(partition, "stated:" + name) }
  /// Set: users of a segment.
  func segment(_ partition: Int, _ name: String) -> String { slice(partition, "segment:" + name) }
  /// Set: users of a segment that is being read in, to take the place of the one in force.
  func importing(_ partition: Int, _ name: String, id: String) -> String {
    slice(partition, "importing:" + name + ":" + id)
  }
  /// Sorted set: users whose opt-outs arrived while a replacement of the list was read in, by when (ms); '' for the
  /// replacement itself.
  func arrivals(_ partition: Int, _ name: String) -> String { slice(partition, "arrivals:" + name) }
  /// Set: users who did something with a campaign's push.
  func receipts(_ partition: Int, _ kind: ReceiptEvent.Kind, _ id: String) -> String {
    slice(partition, kind.rawValue + ":" + id)
  }
  /// String: the users of a slice's targets, sorted, see `recipients.lua`.
  func recipients(_ partition: Int, _ id: String) -> String { slice(partition, "recipients:" + id) }
  /// Set: users or raw tokens that a job lists.
  func audience(_ partition: Int, _ id: String) -> String { slice(partition, "audience:" + id) }
  /// Hash: user → what the job says of the user, a JSON object.
  func values(_ partition: Int, _ id: String) -> String { slice(partition, "values:" + id) }
  /// Hash: claim, lease, phase and counters of a slice.
  func slice(_ partition: Int, of id: String) -> String { slice(partition, "slice:" + id) }
  /// List: pages of targets, as far as the expansion under a claim has got, behind an empty one that `claim.lua` writes.
  func building(_ partition: Int, _ id: String, claim: String) -> String {
    slice(partition, "building:\(id):\(claim)")
  }
  /// List: the control group under a claim that has not sealed, see `ControlUsers`.
  func buildingControl(_ partition: Int, _ id: String, claim: String) -> String {
    slice(partition, "building:\(id):\(claim):control")
  }
  /// List: the control group of a slice, see `ControlUsers`.
  func control(_ partition: Int, _ id: String) -> String { slice(partition, "control:" + id) }
  /// List: pages of sealed targets, see `TargetPage`.
  func targets(_ partition: Int, _ id: String) -> String { slice(partition, "targets:" + id) }
  /// String: a fixed-size record for every target.
  func ledger(_ partition: Int, _ id: String) -> String { slice(partition, "ledger:" + id) }
  /// Sorted set: index of a waiting target to when it is due.
  func retry(_ partition: Int, _ id: String) -> String { slice(partition, "retry:" + id) }
  /// Hash: index to the text of a reason that has no code.
  func reasons(_ partition: Int, _ id: String) -> String { slice(partition, "reasons:" + id) }
  /// Hash: a token's canonical text to `outcome status reason at-ms`.
  public func results(_ partition: Int, _ id: String) -> String { slice(partition, "results:" + id) }
  /// List: what other slots have yet to hear of devices, see `DeviceNotice`.
  func outbox(_ partition: Int) -> String { slice(partition, "outbox") }
}
