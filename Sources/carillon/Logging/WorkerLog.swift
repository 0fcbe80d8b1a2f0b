import PushTransport
import CampaignStore
import CommandSupport
import Logging
import PushCore
import PushWorker
import Synchronization

/// Writes the log lines of a worker. Each line names the worker, and the campaign and slice that it concerns.
final class WorkerLog: Sendable {
  /// Name of the worker. It changes at ``WorkerEvent/started(name:)`` if the configured name was already in use.
  private let name: Mutex<String>
  /// Address of Redis.
  private let redis: String
  /// Totals of the workers of this process before the latest reload.
  private let earlier = Mutex(WorkerTotals())

  init(_ name: String, redis: String) {
    self.name = Mutex(name)
    self.redis = redis
  }

  func write(_ event: WorkerEvent) {
    switch event {
    case .started(let name):
      self.name.withLock { $0 = name }
      log(.info, .worker, "started", "started", ["name": "\(name)"])
    case .activated(let id, let isTransactional):
      let what = isTransactional ? " that ignores suppression lists" : ""
      log(
        .info, .intake, "activated", "activated a campaign" + what,
        ["campaign": "\(id)", "transactional": "\(isTransactional)"])
    case .campaignStarted(let id):
      log(.info, .campaigns, "campaignStarted", "started a scheduled campaign", ["campaign": "\(id)"])
    case .eventsRefused(let list, let count, let reason):
      log(
        .warning, .intake, "eventsRefused", "put events on the dead list",
        ["list": "\(list.rawValue)", "count": "\(count)", "reason": "\(reason)"])
    case .zonesUnknown(let id, let zones, let instead):
      log(
        .warning, .campaigns, "zonesUnknown",
        "this machine does not know the time zones of some devices; these devices use the default time zone",
        [
          "campaign": "\(id)", "zones": "\(zones.map { Excerpt.harmless($0) }.joined(separator: ", "))",
          "defaultTimezone": "\(instead)",
        ])
    case .eventsSuperseded(let list, let count):
      log(
        .debug, .intake, "eventsSuperseded", "ignored events, because newer data exists",
        ["list": "\(list.rawValue)", "count": "\(count)"])
    case .eventsNotApplied(let id, let events):
      log(
        .warning, .campaigns, "eventsNotApplied",
        "started a campaign before all earlier registration events were applied",
        ["campaign": "\(id)", "events": .number(events), "waited": .number(EventWait.longest)])
    case .deadLettered(let key, let id, let reason):
      log(
        .warning, .intake, "deadLettered", "put a job on the dead list",
        ["campaign": "\(id ?? "-")", "key": "\(key)", "reason": "\(reason)"])
    case .ended(let id, let state): log(.info, .campaigns, "ended", "campaign \(state.rawValue)", ["campaign": "\(id)"])
    case .reachedNoUser(let id, let reason):
      log(
        .warning, .campaigns, "reachedNoUser", "a campaign completed and reached no user: \(reason)",
        ["campaign": "\(id)", "reason": "\(reason)"])
    case .paused(let id, let reason):
      log(.error, .campaigns, "paused", "paused a campaign", ["campaign": "\(id)", "reason": "\(reason)"])
    case .declined(let id, let reason):
      log(
        .error, .campaigns, "declined",
        "declined a campaign, because every push would fail here; other workers may send it",
        ["campaign": "\(id)", "reason": "\(reason)"])
    case .controlApplied(let id, let state):
      log(
        .info, .campaigns, "controlApplied", "stopped sending: the campaign was \(state.rawValue)",
        ["campaign": "\(id)"])
    case .resumed(let id):
      log(.info, .campaigns, "resumed", "continues sending: the campaign was resumed", ["campaign": "\(id)"])
    case .decided(let id, let variant):
      log(
        .info, .campaigns, "decided", "chose the variant for the later stages",
        ["campaign": "\(id)", "variant": "\(variant)"])
    case .opened(let id, let stage):
      log(.info, .campaigns, "opened", "began the next stage", ["campaign": "\(id)", "stage": "\(stage)"])
    case .isolated(let what, let reason):
      log(
        .error, .redis, "isolated", "removed damaged data from Redis and put it on the dead list",
        ["what": "\(what)", "reason": "\(reason)"])
    case .becameHousekeeper: log(.debug, .fleet, "becameLeader", "became the maintenance leader", [:])
    case .requeued(let worker, let slices):
      log(
        .warning, .fleet, "requeued", "requeued the slices of a dead worker",
        ["from": "\(worker)", "slices": .number(slices)])
    case .takenOver(let slice, let inDoubt):
      log(
        .warning, .fleet, "takenOver", "took over a slice",
        ["slice": "\(slice)", "campaign": "\(slice.campaign)", "inDoubt": .number(inDoubt)])
    case .lost(let slice):
      log(
        .warning, .fleet, "lost", "lost a slice to another worker",
        ["slice": "\(slice)", "campaign": "\(slice.campaign)"])
    case .bisecting(let slice, let deaths):
      log(
        .error, .slices, "bisecting", "a slice kills its workers; searching for the target that causes it",
        ["slice": "\(slice)", "campaign": "\(slice.campaign)", "deaths": .number(deaths)])
    case .poison(let slice, let index):
      log(
        .error, .slices, "poison", "put a target on the dead list because it killed every worker that sent it",
        ["slice": "\(slice)", "campaign": "\(slice.campaign)", "index": .number(index)])
    case .serverChanged:
      log(
        .warning, .redis, "serverChanged", "Redis was restarted or replaced; replaying writes that it may have lost",
        ["redis": "\(redis)"])
    case .reconnected:
      log(.info, .redis, "reconnected", "connected to the same Redis server again", ["redis": "\(redis)"])
    case .claimed(let slice, let targets):
      log(
        .debug, .slices, "claimed", "claimed a slice",
        ["slice": "\(slice)", "campaign": "\(slice.campaign)", "targets": targets.map { .number($0) } ?? "not sealed"])
    case .sealed(let slice, let targets):
      log(
        .debug, .slices, "sealed", "sealed a slice",
        ["slice": "\(slice)", "campaign": "\(slice.campaign)", "targets": .number(targets)])
    case .parked(let slice, let milliseconds):
      log(
        .debug, .slices, "parked", "parked a slice",
        ["slice": "\(slice)", "campaign": "\(slice.campaign)", "milliseconds": .number(milliseconds)])
    case .released(let slice):
      log(.debug, .slices, "released", "released a slice", ["slice": "\(slice)", "campaign": "\(slice.campaign)"])
    case .closed(let slice, let targets):
      log(
        .debug, .slices, "closed", "closed a slice",
        ["slice": "\(slice)", "campaign": "\(slice.campaign)", "targets": .number(targets)])
    case .breakerOpened(let service, let endpoint):
      log(
        .error, .connections, "breakerOpened",
        "\(service) answers nearly everything with server errors; the worker sends only trial pushes",
        ["endpoint": "\(endpoint)"])
    case .breakerClosed(let service, let endpoint):
      log(
        .info, .connections, "breakerClosed", "\(service) accepts pushes again; the worker continues sending",
        ["endpoint": "\(endpoint)"])
    case .throttled(let app, let share, let reason):
      log(
        .warning, .campaigns, "throttled", "the app's backend is unhealthy: the app's campaigns are slowed down",
        ["app": "\(app)", "share": "\(share)", "reason": "\(reason)"])
    case .throttleEnded(let app):
      log(
        .info, .campaigns, "throttleEnded", "the app's backend is healthy: the limit for the app's campaigns has ended",
        ["app": "\(app)"])
    case .quotaExceeded(let quota, let perSecond):
      log(
        .warning, .campaigns, "quotaExceeded",
        "the push service refuses pushes because the quota is used up; all workers send more slowly",
        ["quota": "\(quota)", "perSecond": "\(CampaignRate.format(perSecond))"])
    case .connections(let service, let endpoint, let state): write(state, of: service, at: endpoint)
    case .error(let text, let slice):
      log(.warning, .worker, "error", text, slice.map { ["slice": "\($0)", "campaign": "\($0.campaign)"] } ?? [:])
    case .storeLocked:
      log(
        .info, .worker, "storeLocked",
        "activates no campaigns: the store is being repartitioned (carillon store repartition)",
        [:])
    case .storeUnlocked:
      log(.info, .worker, "storeUnlocked", "activates campaigns again: the repartition has ended", [:])
    case .draining:
      log(.info, .worker, "draining", "takes no new work and waits for the answers to its pushes in flight", [:])
    case .stopped(let last):
      let totals = earlier.withLock { $0 + last }
      log(
        .info, .worker, "stopped", "stopped",
        [
          "submitted": .number(totals.submitted), "recorded": .number(totals.recorded),
          "accepted": .number(totals.accepted), "slices": .number(totals.slices), "resent": .number(totals.resent),
        ])
    }
  }

  private func write(_ state: PoolState, of service: String, at endpoint: String) {
    let places = state.connections.enumerated().map { number, connection in
      let name = connection.isForUnproven ? "unproven" : "\(number + 1)"
      guard let age = connection.age else { return "\(name): closed" }
      let phase = connection.phase == .established ? "open" : "opening"
      let place = connection.address.map { " to \($0)" } ?? ""
      return "\(name): \(phase)\(place) for \(age / 1_000_000_000) s, "
        + "window \(connection.window), in flight \(connection.inFlight)"
    }
    log(
      .info, .connections, "connections", "connections to \(service)",
      [
        "endpoint": "\(endpoint)", "open": .number(state.open), "inFlight": .number(state.inFlight),
        "backlog": .number(state.backlog), "openings": .number(state.openings), "failures": .number(state.failures),
        "breakerOpenings": .number(state.breakerOpenings), "breaker": "\(state.breaker.name)",
        "each": "\(places.joined(separator: "; "))",
      ])
  }

  /// Logs that the worker uses the reloaded configuration.
  func logReload(as name: String) {
    self.name.withLock { $0 = name }
    write(ConfigurationReload.Notice.applied)
  }

  /// Adds the totals of the time before a reload. The last line of the process contains the totals of all its workers.
  func add(_ totals: WorkerTotals) { earlier.withLock { $0 = $0 + totals } }

  func write(_ notice: CredentialWatcher.Notice) {
    switch notice {
    case .reloaded(let app):
      log(
        .info, .credentials, "credentialReloaded", "the credential's files have changed and are in use",
        ["app": "\(app)"])
    case .unusable(let app, let message, let hint):
      log(
        .error, .credentials, "credentialUnusable", "\(message); the earlier credential stays in use",
        ["app": "\(app)", "hint": "\(hint ?? "")"])
    case .expiring(let app, let certificate, let days):
      log(
        .warning, .credentials, "certificateExpiring",
        "a certificate expires \(days == 0 ? "within a day" : "in \(days) days"): renew it, and replace the file",
        ["app": "\(app)", "certificate": "\(certificate)", "days": .number(days)])
    case .expired(let app, let certificate):
      log(
        .error, .credentials, "certificateExpired",
        "a certificate has expired: APNs refuses it; renew it, and replace the file",
        ["app": "\(app)", "certificate": "\(certificate)"])
    }
  }

  func write(_ notice: ConfigurationReload.Notice) {
    let line = notice.line
    log(line.level, .configuration, line.event, line.text, line.more)
  }

  /// Logs a failure from before the worker started.
  func error(_ text: String) { log(.warning, .worker, "error", text, [:]) }

  /// Writes one log line.
  ///
  /// - Parameters:
  ///   - module: the module, whose log level applies.
  ///   - event: the name of the event, by which programs recognize the line.
  private func log(
    _ level: Logger.Level, _ module: LogModule, _ event: String, _ message: @autoclosure () -> String,
    _ details: @autoclosure () -> Logger.Metadata
  ) {
    guard let logger = Self.loggers[module] else { return }
    let name = name.withLock { $0 }
    logger.log(
      level: level, "\(message())",
      metadata: details().merging([LineLogHandler.eventKey: "\(event)", "worker": "\(name)"]) { detail, _ in detail })
  }

  private static let loggers = Dictionary(
    uniqueKeysWithValues: LogModule.allCases.map { module in
      (module, Logger(label: module == .worker ? "worker" : "worker/\(module.rawValue)"))
    })
}

extension Logger.MetadataValue {
  /// Returns a metadata value that is a number, not a text, in JSON log lines.
  static func number(_ number: Int) -> Logger.MetadataValue { .stringConvertible(number) }
}
