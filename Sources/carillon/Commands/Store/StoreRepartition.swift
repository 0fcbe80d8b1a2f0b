import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore
import PushWorker

extension StoreCommand {
  /// The command `carillon store repartition`.
  struct Repartition: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "repartition", abstract: "Change the number of partitions of the store.",
      discussion: """
        A campaign has one slice (unit of work) per partition. Choose one partition per 20,000 users.

        First the command stops new campaigns: jobs stay in the queue, and scheduled campaigns wait. Running campaigns \
        end, and workers stop using Redis. Then the command moves users, tokens and segments and sets the new number. \
        Workers continue automatically with the waiting jobs. Devices and segments can't be changed during the move. \
        If redis.partitions is in a configuration, remove it or set the new number.

        You can interrupt the command at any time. No data is lost, but no campaign can start. Run the command again \
        to continue, or run it with the old number to undo the change.

        Examples:
          carillon store repartition 1024
          carillon store repartition 1024 --yes --json
        """)

    /// Interval between two checks for running campaigns and workers.
    private static let interval = Duration.milliseconds(500)
    /// Time to wait after the lock. Registrations and import batches that started before the lock end within this time.
    private static let gracePeriod = Duration.seconds(5)

    static let effect = Effect.changes([.storeRepartition])

    @OptionGroup var global: GlobalOptions
    @Argument(help: "The new number of partitions, up to 16384, and at least the present number.") var count: Int
    @Flag(help: "Don't ask for confirmation.") var yes = false

    func validate() throws {
      guard 1...16384 ~= count else {
        throw ValidationError("The number of partitions must be from 1 to 16384, not \(count).")
      }
    }

    func run() async throws {
      let connection = try StoreConnection(global.loadConfiguration().redis)
      let store = try await connection.open(creating: false, adopting: true)
      let (now, locked) = (store.keys.partitions, try await store.repartition.lockedPartitions())
      guard count >= now else {
        throw CommandError(
          .usage, "the store has \(now) partitions: the number can't be lowered to \(count)",
          hint: "choose a larger number")
      }
      if count == now, locked == nil { return try printResult(RepartitionTally(), was: now) }
      try Confirmation.obtain(
        yes, for: "this stops new campaigns until the store has \(count) partitions instead of \(now)",
        detail: ": running campaigns end, then users move", refusal: "nothing was changed")
      let began = ContinuousClock.now
      let spread = try await store.repartition.lock(for: count)
      // The store is locked from now on. Detach standard error, so that a blocked reader does not extend the lock.
      StandardError.detach()
      try await waitForObstacles(store, since: began)
      var bar = ProgressBar("moving", unit: "partitions", total: spread, json: global.json)
      let tally = try await store.repartition.change(to: count, spread: spread) { pass, done in
        if pass == 1 { bar.update(done: done) }
      }
      bar.finish()
      await AuditTrail(store).record(.commandLine, .storeRepartition, "", detail: "\(now) to \(count) partitions")
      try printResult(tally, was: now)
    }

    /// Waits until no campaign runs and no worker is connected. Prints the reasons for waiting.
    private func waitForObstacles(_ store: CampaignStore, since began: ContinuousClock.Instant) async throws {
      var printed = LockObstacles()
      while true {
        let obstacles = try await store.repartition.obstacles(timeout: WorkerConfiguration.standardLease)
        if obstacles != printed, !obstacles.isEmpty { printResult(obstacles) }
        printed = obstacles
        if obstacles.isEmpty, ContinuousClock.now - began > Self.gracePeriod { return }
        try await Task.sleep(for: Self.interval)
      }
    }

    private func printResult(_ obstacles: LockObstacles) {
      if global.json {
        var json = JSONWriter()
        json.beginObject()
        json.member("event", "waiting")
        json.member("campaigns", obstacles.campaignCount)
        json.member("workers", obstacles.workers.count)
        json.endObject()
        return StandardError.write(json.text + "\n")
      }
      var reasons: [String] = []
      if obstacles.campaignCount > 0 {
        let rest = obstacles.campaignCount - obstacles.campaigns.count
        let names = obstacles.campaigns.joined(separator: ", ") + (rest > 0 ? " and \(rest.grouped) more" : "")
        reasons.append("campaigns to end: \(names)")
        if names.contains("(paused)") { reasons.append("resume or cancel the paused ones") }
      } else {
        reasons.append("workers to leave: \(obstacles.workers.count.grouped)")
      }
      StandardError.write("waiting for \(reasons.joined(separator: "; "))\n")
    }

    private func printResult(_ tally: RepartitionTally, was: Int) throws {
      guard global.json else {
        let moved =
          "\(tally.users.grouped) users, \(tally.tokens.grouped) tokens and \(tally.members.grouped) segment entries moved"
        return try StandardOutput.printLine(
          was == count && tally == RepartitionTally()
            ? "the store already has \(count.grouped) partitions"
            : "the store has \(count.grouped) partitions; \(moved)")
      }
      var json = JSONWriter()
      json.beginObject()
      json.member("partitions", count)
      json.member("before", was)
      json.member("users", tally.users)
      json.member("tokens", tally.tokens)
      json.member("members", tally.members)
      json.member("campaigns", tally.campaigns)
      json.endObject()
      try StandardOutput.printLine(json.text)
    }
  }
}
