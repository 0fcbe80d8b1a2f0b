/// Parsing of the names that APNs gives its reasons.
extension Reason {
  /// Creates the reason with this spelling: ``other`` for an unknown spelling, ``none`` for no bytes.
  ///
  /// A linear search by length and bytes is faster than hashing: at most four names have the same length. Rejections
  /// are only a few percent of all answers.
  public init(name: UnsafeRawBufferPointer) {
    guard name.count > 0 else {
      self = .none
      return
    }
    for entry in Self.spellings where entry.bytes.count == name.count && entry.bytes.elementsEqual(name) {
      self = entry.reason
      return
    }
    self = .other
  }

  /// Creates the reason with this spelling, given as text.
  public init(name: some StringProtocol) {
    self = Array(name.utf8).withUnsafeBytes { Reason(name: $0) }
  }

  private static let spellings: [(bytes: [UInt8], reason: Reason)] =
    allCases.filter { !$0.name.isEmpty }.map { (Array($0.name.utf8), $0) } + [
      // Apple documents the name with "KeyId", but APNs was observed to send "Key" (APNSwift, October 2025).
      (Array("BadEnvironmentKeyInToken".utf8), .badEnvironmentKeyIdInToken),
      // The spelling on Apple's page about broadcasts.
      (Array("Service Unavailable".utf8), .serviceUnavailable),
    ]
}
