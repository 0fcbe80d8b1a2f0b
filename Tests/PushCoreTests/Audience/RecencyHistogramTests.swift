import PushCore
import TestKit
import TestSupport
import Testing

/// Selection of the most recently seen users from counts.
struct RecencyHistogramTests {
  private static let now = 1_796_115_600_000

  /// Returns a random age in ms, of any magnitude.
  private static func age(_ random: inout Seed) -> Int {
    Int.random(in: 0..<1 << Int.random(in: 1...48, using: &random), using: &random)
  }

  private static func bin(ofAge age: Int) -> Int {
    RecencyHistogram.bin(seenAt: UInt64(now - age), start: now)
  }

  @Test func binsAreInTheOrderOfAgesAndNarrow() {
    var seed = Seed("binsAreInTheOrderOfAgesAndNarrow")
    var ages = (0..<20_000).map { _ in Self.age(&seed) % Self.now } + Array(0..<2000)
    for power in 8..<40 { ages += [(1 << power) - 1, 1 << power, (1 << power) + 1] }
    ages.sort()
    for (younger, older) in zip(ages, ages.dropFirst()) {
      let bins = (Self.bin(ofAge: younger), Self.bin(ofAge: older))
      expect(bins.0 <= bins.1, "\(younger) \(older), seed \(seed.value)")
      // Two times in one bin differ by at most the width of the bin.
      if bins.0 == bins.1 { expect((older - younger) * 128 <= older, "\(younger) \(older)") }
      expect(bins.1 < RecencyHistogram.never)
    }
    expect(RecencyHistogram.bin(seenAt: 0, start: Self.now), is: RecencyHistogram.never)
    expect(RecencyHistogram.bin(seenAt: UInt64(Self.now) + 5, start: Self.now), is: 0)
    expect(RecencyHistogram.bin(seenAt: .max, start: Self.now), is: 0)
  }

  @Test func storedValueIsReadAndInvalidBytesAreNot() {
    var seed = Seed("storedValueIsReadAndInvalidBytesAreNot")
    for size in [0, 1, 2, 300, 20_000] {
      var histogram = RecencyHistogram()
      for _ in 0..<size { histogram.add(bin: Self.bin(ofAge: Self.age(&seed) % Self.now)) }
      if size > 2 { histogram.add(bin: RecencyHistogram.never) }
      expect(RecencyHistogram(histogram.bytes), is: histogram, "seed \(seed.value)")
      // The size is a few kilobytes for any number of users.
      expect(histogram.bytes.count < 20_000)
    }
    for bytes: [UInt8] in [
      [1], [1, 0], [0x80], [1, 0x80], [1, 1, 0, 1], [0xFF, 0xFF, 0xFF, 0x7F, 1], Array(repeating: 0xFF, count: 9),
    ] {
      expect(RecencyHistogram(bytes), is: nil, "\(bytes)")
    }
  }

  /// Compares the quotas with a sorted list of all users.
  @Test func quotasSelectTheMostRecentlySeenUsers() {
    var seed = Seed("quotasSelectTheMostRecentlySeenUsers")
    for round in 0..<300 {
      // The ages are all different, nearly all equal, or in between.
      let spread = [1, 50, 3000, 1 << 40][round % 4]
      let partitions = (0..<Int.random(in: 1...20, using: &seed)).map { _ in
        (0..<Int.random(in: 0...60, using: &seed)).map { _ in
          Int.random(in: 0...9, using: &seed) == 0
            ? UInt64(0) : UInt64(Self.now - Int.random(in: 0..<spread, using: &seed))
        }.sorted(by: >)
      }
      let all = partitions.flatMap { $0 }.count
      let limit = Int.random(in: 1...max(1, all + 20), using: &seed)
      var quotas = RecencyQuotas(limit: limit)
      let histograms = partitions.map { users in
        var histogram = RecencyHistogram()
        for user in users { histogram.add(bin: RecencyHistogram.bin(seenAt: user, start: Self.now)) }
        return histogram
      }
      for histogram in histograms { quotas.count(histogram) }
      quotas.settle()
      let each = histograms.map { quotas.quota(of: $0) }
      expect(each.reduce(0, +), is: min(limit, all), "round \(round), seed \(seed.value)")
      expect(zip(each, partitions).allSatisfy { 0...$1.count ~= $0 }, "round \(round), seed \(seed.value)")
      let taken = zip(each, partitions).flatMap { $1.prefix($0) }
      let left = zip(each, partitions).flatMap { $1.dropFirst($0) }
      guard let worst = taken.min(), let best = left.max() else { continue }
      // The selection is accurate to 1/128. An excluded user was seen later than a selected one by at most 1/128 of the
      // time since the selected one was seen.
      expect(
        best <= worst || worst > 0 && (best - worst) * 128 <= UInt64(Self.now) - worst,
        "round \(round), seed \(seed.value)")
    }
  }

  @Test func selectionsAreEvenAndIndependent() {
    let (first, second) = (UserDraw(salt: "a"), UserDraw(salt: "b"))
    let draws = (0..<20_000).map { number -> (Double, Double) in
      Array("u\(number)".utf8).withUnsafeBytes { (first.share($0), second.share($0)) }
    }
    // The tolerance is five standard deviations of a fair selection.
    expect(abs(draws.count { $0.0 < 0.25 } - 5000) < 310)
    expect(abs(draws.count { $0.0 < 0.25 && $0.1 < 0.25 } - 1250) < 175)
  }
}
