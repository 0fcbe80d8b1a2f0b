import CampaignStore
import EventLoop

/// Receives the messages of the fleet, and adds this worker to the list of workers. If messages are lost, the worker
/// gets the same information later, from the answers to its heartbeats.
final class FleetMessages: WorkerPart {
  let environment: WorkerEnvironment
  private let membership: FleetMembership
  private let campaigns: CampaignTable
  private let housekeeping: HousekeepingLease
  private let abandoned: AbandonedSlices
  private let takeover: SliceTakeover

  init(
    _ environment: WorkerEnvironment, membership: FleetMembership, campaigns: CampaignTable,
    housekeeping: HousekeepingLease, abandoned: AbandonedSlices, takeover: SliceTakeover
  ) {
    self.environment = environment
    self.membership = membership
    self.campaigns = campaigns
    self.housekeeping = housekeeping
    self.abandoned = abandoned
    self.takeover = takeover
  }

  /// Subscribes to the messages. If Redis refuses the subscription, the worker reacts later but keeps working.
  func listen(on events: EventLoop) async {
    let receive = loop.callback { [weak self] in self?.receive($0) }
    let listener = sharedStore.fleet.listener(for: membership.instance, on: events, handler: receive)
    membership.listener = listener
    await listener.start()
  }

  private func receive(_ event: WakeListener.Event) {
    switch event {
    case .listening:
      membership.isListening = true
      // The answer to a heartbeat has the information of the missed messages.
      signals.heartbeat.wake()
    case .deaf(let error):
      membership.isListening = false
      log.report("no messages arrive", error)
      // The heartbeat shows other workers that this worker is alive.
      signals.heartbeat.wake()
    case .message(.slices(let count)): offer(count)
    case .message(.left(let slice)):
      guard isOffered(1) else { return }
      abandoned.add(slice)
      wakeClaims()
    case .message(.control(let epoch)): if epoch != campaigns.epoch { signals.follower.wake() }
    case .message(.events): if housekeeping.isLeader { signals.maintenance.wake() }
    case .message(.beat(let campaigns, let epoch, let next)):
      housekeeping.receivedSignal(EventLoop.now, next: next)
      if epoch != self.campaigns.epoch { signals.follower.wake() }
      offer(campaigns)
    }
  }

  /// Wakes the claim loop if slices are available and this worker should try to take one.
  private func offer(_ slices: Int) {
    if isOffered(slices) { wakeClaims() }
  }

  /// Returns whether this worker should try to take one of the available slices.
  private func isOffered(_ slices: Int) -> Bool {
    slices > 0 && WakeRule.triesToTake(slices, fleet: environment.fleet)
  }

  /// Adds this worker to the list of workers, unless a live worker has the same name.
  ///
  /// - Throws: ``StoreError`` `conflict` if the operator gave the name and a live worker uses it.
  func join() async throws {
    // If a worker has no subscription, only its heartbeats show that it is alive. This is also true for an earlier
    // process with the same name.
    guard membership.isListening else { return }
    while true {
      let former = try await sharedStore.fleet.presence(of: membership.instance.name)
      if let former, former.instance != membership.instance, try await isAlive(former) {
        try rename()
        continue
      }
      guard try await sharedStore.fleet.join(membership.instance, replacing: former?.instance) else { continue }
      membership.hasJoined = true
      // An earlier process of this name does not renew its leases.
      if let former, former.instance != membership.instance {
        try await takeover.takeOver(from: membership.instance.name, isGone: true)
      }
      return
    }
  }

  private func isAlive(_ state: PresenceState) async throws -> Bool {
    // A busy Redis may not have noticed a recent death. If the other worker is alive and lost only its connection, it
    // sends a heartbeat in this time.
    await pause(milliseconds: HousekeepingLease.retryInterval)
    return try await sharedStore.fleet.presences(of: [state.instance]).contains { $0.isAlive(since: state) }
  }

  private func rename() throws {
    guard !environment.configuration.isNameGiven else {
      throw StoreError(
        .conflict, "a worker named \(membership.instance.name) is already running",
        hint: "use a unique --name for each worker, or omit --name")
    }
    membership.instance.name = "\(environment.configuration.name)-\(membership.instance.nonce.prefix(4))"
    environment.configuration.name = membership.instance.name
  }
}
