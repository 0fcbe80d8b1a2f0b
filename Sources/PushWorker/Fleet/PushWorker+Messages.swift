import CampaignStore
import EventLoop

/// What the fleet says to each other. A worker that hears nothing is told the same by its heartbeats, later.
extension PushWorker {
  /// Listens from now on; a Redis that does not let us makes everything slower, and stops nothing.
  func listen() async {
    let listener = control.fleet.listener(for: membership.instance, on: loop) { [weak self] event in
      self?.assumeIsolated { $0.hear(event) }
    }
    membership.ear = listener
    await listener.start()
  }

  private func hear(_ event: WakeListener.Event) {
    switch event {
    case .listening:
      membership.isListening = true
      // What was said meanwhile the heartbeat tells.
      alarms.pulse.ring()
    case .deaf(let error):
      membership.isListening = false
      log.report("no messages arrive", error)
      // Others must not take us for dead.
      alarms.pulse.ring()
    case .message(.slices(let count)): offer(count)
    case .message(.left(let slice)):
      guard isOffered(1) else { return }
      left.note(slice, at: EventLoop.now)
      wakeClaims()
    case .message(.control(let epoch)): if epoch != campaigns.epoch { alarms.control.ring() }
    case .message(.events): if housekeeping.isMine { alarms.housekeeping.ring() }
    case .message(.beat(let campaigns, let epoch, let next)):
      housekeeping.heard(EventLoop.now, next: next)
      if epoch != self.campaigns.epoch { alarms.control.ring() }
      offer(campaigns)
    }
  }

  /// There are so many slices that somebody may take.
  func offer(_ slices: Int) {
    if isOffered(slices) { wakeClaims() }
  }

  /// Whether this worker is one of those who look when there are so many slices.
  private func isOffered(_ slices: Int) -> Bool {
    slices > 0 && WakeRule.looks(for: slices, roll: .random(in: 0..<scheduler.fleet))
  }

  /// Lists this worker under its name, unless another that lives has it.
  ///
  /// - Throws: ``StoreError`` `conflict` where the name was given.
  func join() async throws {
    // Nobody can tell that it lives but by its heartbeats, and so it is with an earlier life of its name.
    guard membership.isListening else { return }
    while true {
      let former = try await control.fleet.sight(of: membership.instance.name)
      if let former, former.instance != membership.instance, try await isAlive(former) {
        try rename()
        continue
      }
      guard try await control.fleet.join(membership.instance, replacing: former?.instance) else { continue }
      membership.hasJoined = true
      // Nobody renews the leases of an earlier process of this name.
      if let former, former.instance != membership.instance {
        try await takeOver(from: membership.instance.name, isGone: true)
      }
      return
    }
  }

  private func isAlive(_ sight: PresenceSight) async throws -> Bool {
    // Of one that has just died a busy Redis may not have heard yet, and of one that lost its connection a heartbeat comes.
    await pause(milliseconds: Housekeeping.look)
    return try await control.fleet.sights(of: [sight.instance]).contains { $0.isAlive(since: sight) }
  }

  private func rename() throws {
    guard !configuration.isNameGiven else {
      throw StoreError(
        .conflict, "a worker named \(membership.instance.name) is running already",
        hint: "give each worker a name of its own, or none: then it finds one")
    }
    membership.instance.name = "\(configuration.name)-\(membership.instance.nonce.prefix(4))"
    configuration.name = membership.instance.name
  }
}
