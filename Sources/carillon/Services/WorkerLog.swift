import PushTransport
import APNs
import CampaignStore
import CommandSupport
import Logging
import PushWorker

/// What a worker says of itself, as log lines.
struct WorkerLog: Sendable {
  private let logger = Logger(label: "worker")

  func write(_ event: WorkerEvent) {
    switch event {
    case .started(let name): log(.info, "started", "started", ["name": "\(name)"])
    case .activated(let id, let isTransactional):
      let what = isTransactional ? ", which goes to users on suppression lists too" : ""
      log(
        .info, "activated", "took in a campaign" + what,
        ["campaign": "\(id)", "transactional": "\(isTransactional)"])
    case .begun(let id): log(.info, "begun", "a scheduled campaign begins", ["campaign": "\(id)"])
    case .eventsRefused(let list, let count, let reason):
      log(
        .warning, "eventsRefused", "events went to the dead list",
        ["list": "\(list.rawValue)", "count": "\(count)", "reason": "\(reason)"])
    case .deadLettered(let key, let id, let reason):
      log(
        .warning, "deadLettered", "a job went to the dead list",
        ["campaign": "\(id ?? "-")", "key": "\(key)", "reason": "\(reason)"])
    case .ended(let id, let state): log(.info, "ended", "campaign \(state.rawValue)", ["campaign": "\(id)"])
    case .paused(let id, let reason):
      log(.error, "paused", "paused a campaign", ["campaign": "\(id)", "reason": "\(reason)"])
    case .objected(let id, let reason):
      log(
        .error, "objected", "leaves a campaign to other workers: every push of it would fail here",
        ["campaign": "\(id)", "reason": "\(reason)"])
    case .followed(let id, let state):
      log(.info, "followed", "stopped sending: the campaign was \(state.rawValue)", ["campaign": "\(id)"])
    case .resumed(let id): log(.info, "resumed", "goes on with a campaign that was resumed", ["campaign": "\(id)"])
    case .takenOut(let what, let reason):
      log(
        .error, "takenOut", "took out what is damaged in Redis, and put it on the dead list",
        ["what": "\(what)", "reason": "\(reason)"])
    case .keepsHouse: log(.debug, "keepsHouse", "does from now on what one worker does for all", [:])
    case .requeued(let worker, let slices):
      log(
        .warning, "requeued", "requeued the slices of a dead worker",
        ["from": "\(worker)", "slices": .number(slices)])
    case .tookOver(let slice, let inDoubt):
      log(.warning, "tookOver", "took over a slice", ["slice": "\(slice)", "inDoubt": .number(inDoubt)])
    case .lost(let slice): log(.warning, "lost", "lost a slice to another worker", ["slice": "\(slice)"])
    case .bisecting(let slice, let deaths):
      log(
        .error, "bisecting", "a slice kills its workers; looking for the target that does it",
        ["slice": "\(slice)", "deaths": .number(deaths)])
    case .poison(let slice, let index):
      log(
        .error, "poison", "put a target on the dead list that killed every worker that sent it",
        ["slice": "\(slice)", "index": .number(index)])
    case .serverChanged:
      log(
        .warning, "serverChanged", "Redis was restarted or replaced; replaying what it may have lost", [:])
    case .reconnected: log(.info, "reconnected", "connected to Redis again; it is the same server", [:])
    case .claimed(let slice, let targets):
      log(
        .debug, "claimed", "claimed a slice",
        ["slice": "\(slice)", "targets": targets.map { .number($0) } ?? "not sealed"])
    case .sealed(let slice, let targets):
      log(.debug, "sealed", "sealed a slice", ["slice": "\(slice)", "targets": .number(targets)])
    case .parked(let slice, let milliseconds):
      log(.debug, "parked", "parked a slice", ["slice": "\(slice)", "milliseconds": .number(milliseconds)])
    case .gaveBack(let slice): log(.debug, "gaveBack", "gave a slice back", ["slice": "\(slice)"])
    case .closed(let slice, let targets):
      log(.debug, "closed", "closed a slice", ["slice": "\(slice)", "targets": .number(targets)])
    case .breakerOpened(let endpoint):
      log(
        .error, "breakerOpened",
        "APNs answers nearly everything with 503; sending waits, and a push now and then tries",
        ["endpoint": "\(endpoint)"])
    case .breakerClosed(let endpoint):
      log(.info, "breakerClosed", "APNs takes pushes again; sending goes on", ["endpoint": "\(endpoint)"])
    case .connections(let endpoint, let state): write(state, of: endpoint)
    case .trouble(let text): log(.warning, "trouble", text, [:])
    case .held:
      log(
        .info, "held", "takes in no campaign: the store is being given other partitions (carillon store repartition)",
        [:])
    case .released: log(.info, "released", "takes in campaigns again: the store stays as it is", [:])
    case .draining: log(.info, "draining", "finishing what is in flight", [:])
    case .stopped(let totals):
      log(
        .info, "stopped", "stopped",
        [
          "submitted": .number(totals.submitted), "recorded": .number(totals.recorded),
          "accepted": .number(totals.accepted), "slices": .number(totals.slices), "resent": .number(totals.resent),
        ])
    }
  }

  private func write(_ state: PoolState, of endpoint: String) {
    let places = state.connections.enumerated().map { number, connection in
      let name = connection.isForUnproven ? "unproven" : "\(number + 1)"
      guard let age = connection.age else { return "\(name): closed" }
      let phase = connection.phase == .established ? "open" : "opening"
      let place = connection.address.map { " to \($0)" } ?? ""
      return "\(name): \(phase)\(place) for \(age / 1_000_000_000) s, "
        + "window \(connection.window), in flight \(connection.inFlight)"
    }
    log(
      .info, "connections", "connections to APNs",
      [
        "endpoint": "\(endpoint)", "open": .number(state.open), "inFlight": .number(state.inFlight),
        "backlog": .number(state.backlog), "openings": .number(state.openings), "failures": .number(state.failures),
        "breakerOpenings": .number(state.breakerOpenings), "breaker": "\(state.breaker.name)",
        "each": "\(places.joined(separator: "; "))",
      ])
  }

  func write(_ notice: CredentialWatcher.Notice) {
    switch notice {
    case .reloaded(let app):
      log(.info, "credentialReloaded", "the credential's files have changed and are in use", ["app": "\(app)"])
    case .unusable(let app, let message, let hint):
      log(
        .error, "credentialUnusable", "\(message); what was read before stays in use",
        ["app": "\(app)", "hint": "\(hint ?? "")"])
    case .expiring(let app, let certificate, let days):
      log(
        .warning, "certificateExpiring",
        "a certificate expires \(days == 0 ? "within a day" : "in \(days) days"): renew it, and exchange the file",
        ["app": "\(app)", "certificate": "\(certificate)", "days": .number(days)])
    case .expired(let app, let certificate):
      log(
        .error, "certificateExpired", "a certificate has expired: APNs refuses it; renew it, and exchange the file",
        ["app": "\(app)", "certificate": "\(certificate)"])
    }
  }

  /// - Parameter event: what machines know it by.
  private func log(
    _ level: Logger.Level, _ event: String, _ message: @autoclosure () -> String,
    _ details: @autoclosure () -> Logger.Metadata
  ) {
    logger.log(
      level: level, "\(message())",
      metadata: details().merging([LineLogHandler.eventKey: "\(event)"]) { detail, _ in detail })
  }
}

extension Logger.MetadataValue {
  /// A number that stays one in JSON.
  static func number(_ number: Int) -> Logger.MetadataValue { .stringConvertible(number) }
}
