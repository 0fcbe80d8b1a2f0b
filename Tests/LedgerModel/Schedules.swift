import Synchronization

/// A schedule that violated an invariant.
public struct Violation: Sendable, CustomStringConvertible {
  /// Seed that reproduces the schedule.
  public var seed: UInt64
  /// The violated invariant.
  public var reason: String
  /// The faults that are needed to violate the invariant.
  public var faults: [String]
  /// The events of the schedule with only these faults.
  public var trace: [String]

  public var description: String {
    "seed \(seed): \(reason)\nfaults: \(faults.joined(separator: ", "))\n\(trace.joined(separator: "\n"))"
  }
}

/// Result of a run of many schedules.
public struct RunSummary: Sendable {
  public var schedules = 0
  public var steps = 0
  public var faults = FaultCounts()
  /// Number of schedules with a takeover of targets in doubt.
  public var takeovers = 0
  /// Number of pushes delivered more than once.
  public var duplicates = 0
  /// Number of duplicates caused by lost writes that no worker could replay.
  public var forgiven = 0
  /// The first violations.
  public var violations: [Violation] = []

  /// Creates an empty summary.
  public init() {}

  static func += (left: inout RunSummary, right: RunSummary) {
    left.schedules += right.schedules
    left.steps += right.steps
    left.faults += right.faults
    left.takeovers += right.takeovers
    left.duplicates += right.duplicates
    left.forgiven += right.forgiven
    left.violations += right.violations
  }
}

/// Runs random schedules of the ledger's model on several cores.
///
/// - Parameters:
///   - count: number of schedules. A run ends early after `violations` violations.
///   - seed: seed of the first schedule. The others have the following seeds.
///   - mutant: the broken rule, if any.
///   - cores: number of concurrent tasks.
///   - violations: number of violations that ends the run.
///   - progress: called sometimes with the number of completed schedules, from any thread.
public func runSchedules(
  count: Int, seed: UInt64, mutant: Mutant? = nil, cores: Int = 1, violations: Int = 1,
  progress: (@Sendable (Int) -> Void)? = nil
) async -> RunSummary {
  let shared = Progress(rules: Rules(mutant: mutant))
  return await withTaskGroup(of: RunSummary.self) { group in
    for _ in 0..<max(1, cores) {
      group.addTask {
        var world = World()
        var summary = RunSummary()
        while shared.found.load(ordering: .relaxed) < violations {
          let first = shared.next.add(chunk, ordering: .relaxed).oldValue
          guard first < count else { break }
          for number in first..<min(first + chunk, count) {
            run(seed &+ UInt64(number), shared.rules, &world, &summary)
            guard world.violation != nil else { continue }
            summary.violations.append(shrink(seed &+ UInt64(number), shared.rules))
            if shared.found.add(1, ordering: .relaxed).newValue >= violations { break }
          }
          progress?(min(first + chunk, count))
        }
        return summary
      }
    }
    return await group.reduce(into: RunSummary()) { $0 += $1 }
  }
}

/// Progress of all cores together.
private final class Progress: Sendable {
  let rules: Rules
  let next = Atomic<Int>(0)
  let found = Atomic<Int>(0)

  init(rules: Rules) { self.rules = rules }
}

/// Schedules that a core takes in one step.
private let chunk = 200

@inline(never)
private func run(_ seed: UInt64, _ rules: Rules, _ world: inout World, _ summary: inout RunSummary) {
  world.reset(seed: seed, rules: rules)
  world.run()
  summary.schedules += 1
  summary.steps += world.step
  summary.faults += world.injected
  if world.takeovers > 0 { summary.takeovers += 1 }
  for target in 0..<24 {
    summary.duplicates += max(0, Int(world.apns.deliveries[target]) - 1)
    summary.forgiven += min(max(0, Int(world.apns.deliveries[target]) - 1), Int(world.apns.forgiven[target]))
  }
}

/// Repeats a schedule with only the faults that it needs, and records its events.
public func shrink(_ seed: UInt64, _ rules: Rules = Rules()) -> Violation {
  var world = World()
  var dropped: UInt64 = 0
  world.reset(seed: seed, rules: rules)
  let count = world.faults.count
  for number in 0..<count {
    world.reset(seed: seed, rules: rules)
    world.dropped = dropped | 1 << UInt64(number)
    world.run()
    if world.violation != nil { dropped |= 1 << UInt64(number) }
  }
  world.trace = []
  world.reset(seed: seed, rules: rules)
  world.dropped = dropped
  world.run()
  let faults = world.faults.indices.filter { dropped >> UInt64($0) & 1 == 0 }.map { "\(world.faults[$0].kind)" }
  let setting =
    "window \(world.rules.window), \(world.slices) slices of \(world.targets), "
    + (world.rules.skips ? "skip" : "resend")
  return Violation(
    seed: seed, reason: "\(world.violation ?? "none") (\(setting))", faults: faults, trace: world.trace ?? [])
}
