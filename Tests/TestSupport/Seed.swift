import Foundation

/// A repeatable source of random numbers that prints its seed.
///
/// `CARILLON_TEST_SEED` sets the seed. Without the variable the seed is random. The seed is printed with the test's
/// name.
public struct Seed: RandomNumberGenerator, Sendable {
  /// The seed.
  public let value: UInt64
  private var state: UInt64

  /// - Parameter name: name of the test, printed with the seed.
  public init(_ name: String) {
    let environment = ProcessInfo.processInfo.environment["CARILLON_TEST_SEED"].flatMap { UInt64($0) }
    self.value = environment ?? UInt64.random(in: .min ... .max)
    state = self.value
    print("seed of \(name): CARILLON_TEST_SEED=\(self.value)")
  }

  /// Creates a generator with a given seed and does not print it.
  public init(value: UInt64) {
    self.value = value
    state = value
  }

  // SplitMix64 (Steele, Lea, Flood, 2014): any seed is valid, and every value occurs once in a period.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
