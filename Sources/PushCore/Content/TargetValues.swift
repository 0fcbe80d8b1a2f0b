/// What a campaign's content knows of one target: which form of the payload it gets, and its values, as they stand in the
/// target's slice.
/// Sealed with it, so a push that is sent again is the same push.
///
/// A u16 (big-endian) for the form; for each value of ``PersonalContent`` a u16 length and the text as it stands in a JSON
/// string; 0xFFFF for a user who has none. No bytes at all are the first form without values. The form's number is its place
/// in ``PersonalContent``, or, where there are variants, what ``VariantForms`` makes of variant and language.
public struct TargetValues: Sendable {
  private let bytes: ArraySlice<UInt8>
  /// The number that the push puts on the app's icon, as it was decided when the target was admitted; `nil` for none.
  public var badge: Int?

  static let missing = 0xffff

  /// - Parameter bytes: as written by ``PersonalContent/writeValues(of:locale:variant:to:)``. Bytes that nothing of ours has written
  ///   are values that are missing.
  public init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

  /// The first form, and no values.
  public static let none = TargetValues([])

  /// The form's number.
  var form: Int { number(at: bytes.startIndex) ?? 0 }

  /// Where the values stand, in their order.
  var values: Cursor { Cursor(values: self, at: bytes.startIndex + 2) }

  /// The value at a place; `nil` where the user has none.
  subscript(place: Int) -> ArraySlice<UInt8>? {
    var cursor = values
    for _ in 0..<place { cursor.skip() }
    return cursor.next()
  }

  /// Goes from value to value.
  struct Cursor {
    fileprivate let values: TargetValues
    fileprivate var at: Int

    /// The next value; `nil` where the user has none.
    mutating func next() -> ArraySlice<UInt8>? {
      guard let length = values.number(at: at) else { return nil }
      let start = at + 2
      guard length != TargetValues.missing, start + length <= values.bytes.endIndex else {
        at = start
        return nil
      }
      at = start + length
      return values.bytes[start..<at]
    }

    mutating func skip() { _ = next() }
  }

  private func number(at place: Int) -> Int? {
    guard place + 2 <= bytes.endIndex else { return nil }
    return Int(bytes[place]) << 8 | Int(bytes[place + 1])
  }
}
