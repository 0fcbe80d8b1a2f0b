import CampaignStore
import EventLoop
import PushCore
import PushTransport

/// Apps' own backends, which have to bear what users do with a push: one worker of the fleet asks them how they are, and all go
/// slower while one is not well.
extension PushWorker {
  /// ms between looks what is due, and what was found.
  private var backendInterval: Int {
    min(1000, configuration.apps.values.compactMap { $0.backend?.interval }.min() ?? 1000)
  }

  /// Runs beside the worker's other loops, and nobody waits for it: what can't be asked or read holds no push up.
  func backendLoop() async {
    while !life.isFinished, !Task.isCancelled {
      do {
        if housekeeping.isMine { askBackends() }
        if !slices.taken.isEmpty { follow(try await control.limits.backends()) }
      } catch {
        if !life.isFinished { log.report("could not read how backends are", error) }
      }
      try? await Task.sleep(for: .milliseconds(backendInterval))
    }
  }

  /// A campaign came into hand of an app that has a backend: while nothing was, nobody here read how that is.
  func learnOfBackends() async {
    do {
      follow(try await control.limits.backends())
    } catch {
      log.report("could not read how backends are", error)
    }
  }

  /// Asks those whose time has come. Each at its own pace: one that hangs holds up no other.
  private func askBackends() {
    let now = EventLoop.now
    for (name, app) in configuration.apps {
      guard let backend = app.backend, rates.begin(name, backend, now) else { continue }
      // One task a look, not one a push.
      Task {
        await ask(backend, of: name)
        rates.end(name)
      }
    }
  }

  private func ask(_ backend: AppBackend, of app: String) async {
    let finding = await backend.check.look()
    do {
      let now = Int(now)
      let known = try await control.limits.backends()[app].flatMap { $0.isCurrent(now) ? $0 : nil }
      let standing = known ?? BackendStanding(app: app, at: now)
      let next = BackendPace.after(standing, finding, leastShare: backend.leastShare, now: now)
      try await control.limits.keep(next)
      if next.isSlowed != standing.isSlowed {
        log.tell(
          next.isSlowed ? .slowed(app: app, share: next.share, reason: next.reason ?? "") : .quickened(app: app))
      }
    } catch {
      if !life.isFinished { log.report("could not note how the backend of app \(app) is", error) }
    }
  }

  /// Goes as fast as is right for what was found.
  private func follow(_ standings: [String: BackendStanding]) {
    let backends = configuration.apps.compactMapValues(\.backend)
    if rates.follow(standings, of: backends, now: Int(now)) { wakeSlices() }
  }
}
