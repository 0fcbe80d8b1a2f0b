/// All calls of a schedule to Redis, for a repetition on a real one.
public struct StoreTrace: Sendable {
  /// Seed of the schedule.
  public let seed: UInt64
  public let slices: Int
  /// Number of targets of each slice.
  public let targets: Int
  public let rules: Rules
  public let operations: [StoreOperation]

  /// Runs a schedule. It omits lost and duplicated references, because no call of the store causes them.
  public init(seed: UInt64) {
    var world = World()
    world.reset(seed: seed, rules: Rules())
    for (number, fault) in world.faults.enumerated()
    where fault.kind == .referenceLost || fault.kind == .referenceTwice {
      world.dropped |= 1 << UInt64(number)
    }
    world.operations = []
    world.run()
    self.seed = seed
    slices = world.slices
    targets = world.targets
    rules = world.rules
    operations = world.operations ?? []
  }
}
