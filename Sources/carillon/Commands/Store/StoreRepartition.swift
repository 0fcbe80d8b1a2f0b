import ArgumentParser
import CampaignStore
import CommandSupport
import PushCore
import PushWorker

extension StoreCommand {
  /// `carillon store repartition`.
  struct Repartition: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Gives the store another number of partitions.",
      discussion: """
        A campaign is cut into as many slices as there are partitions: take one for every 20,000 users.

        New campaigns are held back from now on: jobs stay in the queue, scheduled ones wait. What runs ends, and workers \
        leave; then users, tokens and segments move, and the store gets its new number. Workers come back by themselves, \
        and begin with what waits. Devices and segments can't be changed meanwhile. Where redis.partitions is in the \
        configuration of workers and commands, take it out, or write the new number.

        It may be interrupted at any time: nothing is lost, and the store stays held. Run it again to go on; with the \
        number that the store has now everything moves back.

        Examples:
          carillon store repartition 1024
          carillon store repartition 1024 --yes --json
        """)

    /// Between two looks at what is in the way.
    private static let interval = Duration.milliseconds(500)
    /// What was let in before the hold, a registration or a batch of an import, has ended.
    private static let gracePeriod = Duration.seconds(5)

    @OptionGroup var global: GlobalOptions
    @Argument(help: "How many partitions it is to have: 1 to 16384, and not fewer than it has.") var count: Int
    @Flag(help: "Don't ask.") var yes = false

    func validate() throws {
      guard 1...16384 ~= count else { throw ValidationError("A store can have 1 to 16384 partitions, not \(count).") }
    }

    func run() async throws {
      let connection = try StoreConnection(global.loadConfiguration().redis)
      let store = try await connection.open(creating: false, adopting: true)
      let (now, held) = (store.keys.partitions, try await store.repartition.heldFor())
      guard count >= now else {
        throw CommandError(
          .usage, "the store has \(now) partitions, and can't have fewer", hint: "give a larger number")
      }
      if count == now, held == nil { return try tell(RepartitionTally(), was: now) }
      try Confirmation.obtain(
        yes, for: "this holds campaigns back until the store has \(count) partitions instead of \(now)",
        detail: ": what runs ends, then users move", refusal: "nothing was changed")
      let began = ContinuousClock.now
      let spread = try await store.repartition.hold(for: count)
      // The store is held from now on: not for as long as nobody reads what this says.
      StandardError.detach()
      try await waitForObstacles(store, since: began)
      var bar = ProgressBar("moving", unit: "partitions", total: spread, json: global.json)
      let tally = try await store.repartition.change(to: count, spread: spread) { pass, done in
        if pass == 1 { bar.update(done: done) }
      }
      bar.finish()
      try tell(tally, was: now)
    }

    /// Waits until nothing runs and nobody is there, and says what it waits for.
    private func waitForObstacles(_ store: CampaignStore, since began: ContinuousClock.Instant) async throws {
      var said = HoldObstacles()
      while true {
        let obstacles = try await store.repartition.obstacles(timeout: WorkerConfiguration.standardLease)
        if obstacles != said, !obstacles.isEmpty { tell(obstacles) }
        said = obstacles
        if obstacles.isEmpty, ContinuousClock.now - began > Self.gracePeriod { return }
        try await Task.sleep(for: Self.interval)
      }
    }

    private func tell(_ obstacles: HoldObstacles) {
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
        if names.contains("(paused)") { reasons.append("resume or cancel what is paused") }
      } else {
        reasons.append("workers to leave: \(obstacles.workers.count.grouped)")
      }
      StandardError.write("waiting for \(reasons.joined(separator: "; "))\n")
    }

    private func tell(_ tally: RepartitionTally, was: Int) throws {
      guard global.json else {
        let moved =
          "\(tally.users.grouped) users, \(tally.tokens.grouped) tokens and \(tally.members.grouped) places in segments moved"
        return try StandardOutput.printLine(
          was == count && tally == RepartitionTally()
            ? "the store has \(count.grouped) partitions already"
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
