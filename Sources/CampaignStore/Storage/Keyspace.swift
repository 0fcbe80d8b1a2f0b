import PushCore

/// The names of all Redis keys of the store.
///
/// *Control* keys concern the whole store and have the hash tag `{namespace}`. *Slice* keys concern one partition and
/// have the hash tag `{namespace:partition}`. A script uses keys of one hash tag only, so the store also runs on a
/// cluster.
public struct Keyspace: Sendable {
  /// The prefix of all keys: one or more of `A-Za-z0-9_-`. A brace would break the hash tags.
  public let namespace: String
  /// The number of partitions.
  public let partitions: Int
  private let control: String

  /// Creates the key names of a store with this namespace and number of partitions.
  /// - Returns: `nil` if the namespace has a character that is not allowed, or if `partitions` is not from 1 to 16,384.
  public init?(namespace: String, partitions: Int) {
    let allowed = namespace.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
        true
      default: false
      }
    }
    // A cluster has 16,384 slots. With more partitions than slots, some partitions would always share a slot.
    guard allowed, !namespace.isEmpty, (1...16384).contains(partitions) else { return nil }
    self.namespace = namespace
    self.partitions = partitions
    control = "{\(namespace)}:"
  }

  /// A control key, for `RedisOptions.home` of the store's client.
  public var home: String { control }

  // MARK: Control

  /// Hash: number of partitions and version of the store.
  var store: String { control + "store" }
  /// List: jobs from producers.
  public var campaigns: String { control + "campaigns" }
  /// List: events from producers about users and devices, or receipts from apps, depending on the list.
  public func events(_ list: EventList) -> String { control + list.rawValue }
  /// List: the jobs that a worker is taking in.
  func intake(worker: String) -> String { control + "intake:" + worker }
  /// Hash: SHA-1 of a job → the workers that began to take it in, see `beginjob.lua`.
  var attempts: String { control + "attempts" }
  /// String: digest of the job that has this id, and whether the job was activated.
  func job(_ id: String) -> String { control + "job:" + id }
  /// String: digest of a submitted job, and its submitter.
  func submitter(_ id: String) -> String { control + "submitter:" + id }
  /// Hash: a campaign and its totals.
  func campaign(_ id: String) -> String { control + "campaign:" + id }
  /// List: actions on a campaign, with time and actor, see `control.lua`.
  func timeline(_ id: String) -> String { control + "timeline:" + id }
  /// Hash: sends leased to all workers, and their answers, during a campaign's guard trial, see `guardtrial.lua`.
  func guardTrial(_ id: String) -> String { control + "trial:" + id }
  /// Hash: the latest answers to a campaign after its guard trial, see `guardwatch.lua`.
  func guardWatch(_ id: String) -> String { control + "watch:" + id }
  /// Hash: token bucket of a campaign with a rate, see `rate.lua`.
  func rate(campaign id: String) -> String { control + "rate:" + id }
  /// Hash: token bucket of all campaigns of an app.
  func rate(app: String, service: String) -> String { control + "apprate:" + app + ":" + service }
  /// Hash: token bucket of an app's campaigns while its backend is unhealthy.
  func backendRate(app: String) -> String { control + "backendrate:" + app }
  /// Hash: token bucket of all apps that share a quota of a push service, and its present limit, see `rate.lua`.
  func quota(_ name: String) -> String { control + "quota:" + name }
  /// Hash: the latest answers to campaigns of an app during their guard trials, see `guardtrial.lua`.
  func answers(app: String) -> String { control + "answers:" + app }
  /// Hash: partition → histogram of its users by last seen, for a campaign with a limit, see `rank.lua`.
  func ranking(_ id: String) -> String { control + "ranking:" + id }
  /// Hash: worker → the reason why it can't send a campaign, and the start of the wait, see `Waiting.swift`.
  func waiting(_ id: String) -> String { control + "waiting:" + id }

  /// Sorted set: workers that decline a campaign, by the time of their last decline, see `decline.lua`.
  func declines(_ id: String) -> String { control + "declines:" + id }
  /// Bitmap: the partitions whose slices are finished, and the partitions without a slice.
  func finished(_ id: String) -> String { control + "finished:" + id }
  /// List: the partitions whose slices wait for a worker.
  func open(_ id: String) -> String { control + "open:" + id }
  /// List: the campaigns of a lane, served in turn.
  func lane(_ name: String) -> String { control + "lane:" + name }
  /// The keys of all lanes, highest lane first.
  var lanes: [String] { Lane.allCases.map { lane($0.rawValue) } }
  /// List: references to the slices that a worker holds.
  func processing(worker: String) -> String { control + "processing:" + worker }
  /// Sorted set: workers by their last heartbeat.
  var workers: String { control + "workers" }
  /// Hash: worker → nonce of the instance that has its name.
  var instances: String { control + "instances" }
  /// Hash: worker → its report, see `WorkerReport`.
  var reports: String { control + "reports" }
  /// String: the instance that is the maintenance leader; expires with its lease.
  var housekeeper: String { control + "housekeeper" }
  /// Hash: progress of the housekeeping tasks.
  var housekeeping: String { control + "housekeeping" }
  /// Sorted set: references to slices that wait for a retry, by due time.
  var parked: String { control + "parked" }
  /// Set: campaigns that have begun and not ended, including paused ones.
  var running: String { control + "running" }
  /// Sorted set: scheduled campaigns, by start time.
  public var schedule: String { control + "schedule" }
  /// Sorted set: campaigns with a stage that has not begun, by the time of the next check of its gate.
  var gates: String { control + "gates" }
  /// Sorted set: campaigns that wait for approval, by their start time.
  var approvals: String { control + "approvals" }
  /// Number: the control epoch. Every change by a pause, resume or cancel raises it.
  var epoch: String { control + "epoch" }
  /// String: exists for a short time after a worker detected that Redis may have lost its last writes.
  var failover: String { control + "failover" }
  /// Sorted set: workers by the control epoch that they have applied.
  var applied: String { control + "applied" }
  /// Sorted set: ended campaigns whose keys have no expiry yet, by their end time.
  var ended: String { control + "ended" }
  /// Sorted set: ended campaigns whose records expire, by a time after which the record has expired.
  var expiring: String { control + "expiring" }
  /// Sorted set: campaigns by creation time.
  var all: String { control + "all" }
  /// Stream: jobs that could not be run.
  var dead: String { control + "dead" }
  /// Stream: audit log of actions and their actors.
  var audit: String { control + "audit" }
  /// Stream: changes of campaigns and alarms, for webhooks.
  var changes: String { control + "changes" }
  /// Hash: webhook → its delivery position, see `WebhookStatus`.
  var webhooks: String { control + "webhooks" }
  /// Hash: app → health of its backend, see `Backends`.
  var backends: String { control + "backends" }
  /// Hash: kind and subject of an active alarm → its text.
  var alarms: String { control + "alarms" }
  /// Stream: outcomes and prunes, for a data warehouse.
  public var events: String { control + "events" }
  /// List: pruned tokens, for the customer's own database.
  public var feedback: String { control + "feedback" }
  /// Hash: user with an unfinished erasure → its remaining steps (`PendingErasure`).
  var erasing: String { control + "erasing" }
  /// Hash: progress of the import of a file.
  func importOf(file: String) -> String { control + "import:" + file }
  /// Hash: versions of a template by number, and `latest`.
  func template(_ name: String) -> String { control + "template:" + name }
  /// Set: names of templates.
  var templates: String { control + "templates" }
  /// Hash: name of a segment that is a rule → the rule, see `define.lua`.
  var definitions: String { control + "definitions" }
  /// Sorted set: Live Activities by the time (ms) of the last registration of one of their tokens.
  var activities: String { control + "activities" }
  /// Set: names of segments.
  var segments: String { control + "segments" }

  // MARK: Channels

  /// The wake-up channel of the workers, see `WakeMessage`.
  var wake: String { control + "wake" }
  /// Channel that an instance of a worker subscribes to while it lives. Nothing is published there.
  func presence(_ instance: WorkerInstance) -> String { control + "presence:" + instance.name + ":" + instance.nonce }

  /// Returns the new name of a damaged control key that is isolated.
  func isolated(_ key: String) -> String { control + "aside:" + key.dropFirst(control.count) }

  // MARK: Slice

  /// A key of a partition, with which the client finds the server of the partition.
  func home(of partition: Int) -> String { slice(partition, "") }

  private func slice(_ partition: Int, _ name: String) -> String { "{\(namespace):\(partition)}:\(name)" }

  /// Set: registered users.
  func users(_ partition: Int) -> String { slice(partition, "users") }
  /// Hash: user → device records.
  func devices(_ partition: Int) -> String { slice(partition, "devices") }
  /// Hash: user → attributes as JSON, see `UserAttributes`.
  func attributes(_ partition: Int) -> String { slice(partition, "attributes") }
  /// Hash: user → badges and frequency cap counters for each app, see `pressure.lua`.
  func pressure(_ partition: Int) -> String { slice(partition, "pressure") }
  /// Hash: quarantined token → reason and time, see `DeviceNotice`.
  func quarantine(_ partition: Int) -> String { slice(partition, "quarantine") }
  /// Hash: token → `at:user`. `partition` is the partition of the token, not of the user.
  func owner(_ partition: Int) -> String { slice(partition, "owner") }
  /// Hash: notes of registrations in progress, see `bind.lua`. `partition` is the partition of the token.
  func moving(_ partition: Int) -> String { slice(partition, "moving") }
  /// Number: how many times a token of the partition was taken from a user, see `settle.lua`.
  func taken(_ partition: Int) -> String { slice(partition, "taken") }
  /// String: number of departures (a user lost a device or opted out), and the fingerprints of the users who departed
  /// last, see `departures.lua`.
  func departures(_ partition: Int) -> String { slice(partition, "departures") }
  /// Sorted set: digests of removed devices and tokens, by time of removal (ms), see `marks.lua`.
  func removals(_ partition: Int) -> String { slice(partition, "removals") }
  /// Sorted set: digests of erased users, by time of erasure (ms).
  func erased(_ partition: Int) -> String { slice(partition, "erased") }
  /// Sorted set: users without a device whose attributes or badges are retained, by the start of the retention (ms).
  func retained(_ partition: Int) -> String { slice(partition, "retained") }
  /// Sorted set: users by the time (ms) of the last change of their membership in a segment; the member '' has
  /// the time of the last change of the whole segment.
  func stated(_ partition: Int, _ name: String) -> String { slice(partition, "stated:" + name) }
  /// Set: users of a segment.
  func segment(_ partition: Int, _ name: String) -> String { slice(partition, "segment:" + name) }
  /// Set: users of an import that will replace a segment.
  func importing(_ partition: Int, _ name: String, id: String) -> String {
    slice(partition, "importing:" + name + ":" + id)
  }
  /// Sorted set, during an import that replaces a suppression list: users whose opt-outs have arrived since the start
  /// of the import, by time (ms); the member '' has the start time of the import.
  func arrivals(_ partition: Int, _ name: String) -> String { slice(partition, "arrivals:" + name) }
  /// Set: users with a receipt of a kind for a campaign's push.
  func receipts(_ partition: Int, _ kind: ReceiptEvent.Kind, _ id: String) -> String {
    slice(partition, kind.rawValue + ":" + id)
  }
  /// String: an index of the users of a slice's targets, sorted, see `recipients.lua`.
  func recipients(_ partition: Int, _ id: String) -> String { slice(partition, "recipients:" + id) }
  /// Set: users or raw tokens that a job lists.
  func audience(_ partition: Int, _ id: String) -> String { slice(partition, "audience:" + id) }
  /// Hash: user → the job's values for the user, a JSON object.
  func values(_ partition: Int, _ id: String) -> String { slice(partition, "values:" + id) }
  /// Hash: claim, lease, phase and counters of a slice.
  func slice(_ partition: Int, of id: String) -> String { slice(partition, "slice:" + id) }
  /// List: pages of targets that a claim has written and not sealed. The first page is empty and comes from
  /// `claim.lua`.
  func building(_ partition: Int, _ id: String, claim: String) -> String {
    slice(partition, "building:\(id):\(claim)")
  }
  /// List: the unsealed control group of a claim, see `ControlUsers`.
  func buildingControl(_ partition: Int, _ id: String, claim: String) -> String {
    slice(partition, "building:\(id):\(claim):control")
  }
  /// Returns the keys of the lists that a claim writes before its seal.
  func unsealedLists(_ partition: Int, _ id: String, claim: String) -> [String] {
    [building(partition, id, claim: claim), buildingControl(partition, id, claim: claim)]
  }
  /// List: the control group of a slice, see `ControlUsers`.
  func control(_ partition: Int, _ id: String) -> String { slice(partition, "control:" + id) }
  /// List: pages of sealed targets, see `TargetPage`.
  func targets(_ partition: Int, _ id: String) -> String { slice(partition, "targets:" + id) }
  /// String: a record of fixed size for every target.
  func ledger(_ partition: Int, _ id: String) -> String { slice(partition, "ledger:" + id) }
  /// Sorted set: indexes of the targets that wait for a retry, by due time.
  func retry(_ partition: Int, _ id: String) -> String { slice(partition, "retry:" + id) }
  /// Hash: index of a target → text of the service's reason, if the reason has no code.
  func reasons(_ partition: Int, _ id: String) -> String { slice(partition, "reasons:" + id) }
  /// Hash: canonical text of a token → `outcome status reason at-ms`.
  public func results(_ partition: Int, _ id: String) -> String { slice(partition, "results:" + id) }
  /// List: notices about devices that must be delivered to other slots, see `DeviceNotice`.
  func outbox(_ partition: Int) -> String { slice(partition, "outbox") }

  /// The keys of `upsert.lua`.
  func ofRegistration(_ partition: Int) -> [String] {
    [
      devices(partition), users(partition), attributes(partition), quarantine(partition), removals(partition),
      erased(partition), retained(partition), departures(partition), moving(partition),
    ]
  }
}
