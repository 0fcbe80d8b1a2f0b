/// Whole numbers in the notation of JSON writers: `4711`, or `4711.0` from a column of floating-point numbers.
enum WholeNumber {
  /// Largest number up to which a floating-point column can represent every whole number: 2^53 (IEEE 754, binary64).
  private static let largestExact = 1 << 53

  /// Returns the digits of a whole number. A fraction that has only zeros, such as `.0`, is removed.
  ///
  /// - Parameter number: a number in the notation of JSON.
  /// - Returns: `nil` for a fraction, for an exponent, and for a number with a decimal point that is too large to be
  ///   exact.
  static func text(_ number: String) -> String? {
    let parts = number.utf8.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = parts.first, isDigits(whole.first == UInt8(ascii: "-") ? whole.dropFirst() : whole) else {
      return nil
    }
    guard parts.count == 2 else { return number == "-0" ? "0" : number }
    guard !parts[1].isEmpty, parts[1].allSatisfy({ $0 == UInt8(ascii: "0") }),
      let value = Int(String(Substring(whole))), abs(value) <= largestExact
    else { return nil }
    return String(value)
  }

  private static func isDigits(_ bytes: Substring.UTF8View) -> Bool {
    !bytes.isEmpty && bytes.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
  }
}
