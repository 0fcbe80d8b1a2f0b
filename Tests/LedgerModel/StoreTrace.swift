/// All that a schedule did to Redis, to be done again on a real one.
public struct StoreTrace: Sendable {
  /// What the schedule was made from.
  public let seed: UInt64
  public let slices: Int
  /// Targets of each slice.
  public let targets: Int
  public let rules: Rules
  public let operations: [StoreOperation]

  /// Runs a schedule. References that get lost by themselves are left out: no call of the store does that.
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
