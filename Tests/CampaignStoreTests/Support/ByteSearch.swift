import Foundation

extension [UInt8] {
  /// Returns whether these bytes contain others. Much faster than `firstRange(of:)` of an array: the tests of an erasure
  /// search for several texts in every key.
  func has(_ needle: [UInt8]) -> Bool { Data(self).range(of: Data(needle)) != nil }
}
