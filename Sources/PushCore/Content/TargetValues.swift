/// The personal part of one target's push, as stored in the target's slice: the payload form (its language and variant)
/// and the values of the placeholders. They are sealed with the target, so a push that is sent again has the same
/// content.
///
/// The bytes begin with the number of the form, a big-endian u16. Then each value of ``PersonalContent`` follows: its
/// length, a big-endian u16, and its text, escaped as in a JSON string. The length 0xFFFF means that the user has no
/// such value. A target without bytes has the first form and no values. Without variants, the number of the form is its
/// position in ``PersonalContent``. With variants, it is the number that ``VariantForms`` calculates from variant and
/// language.
public struct TargetValues: Sendable {
  private let bytes: ArraySlice<UInt8>
  /// Badge count of the push, determined by the grant of the target; `nil` for none.
  public var badge: Int?

  static let missing = 0xffff

  /// - Parameter bytes: as written by ``PersonalContent/writeValues(of:locale:variant:to:)``. If Carillon did not write
  ///   the bytes, values may be missing.
  public init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

  /// The first form without values.
  public static let none = TargetValues([])

  /// The form's number.
  var form: Int { number(at: bytes.startIndex) ?? 0 }

  /// Cursor at the first value.
  var values: Cursor { Cursor(values: self, at: bytes.startIndex + 2) }

  /// The value at a position; `nil` if the user has none.
  subscript(place: Int) -> ArraySlice<UInt8>? {
    var cursor = values
    for _ in 0..<place { cursor.skip() }
    return cursor.next()
  }

  /// Cursor that moves from value to value.
  struct Cursor {
    fileprivate let values: TargetValues
    fileprivate var at: Int

    /// Returns the next value; `nil` if the user has none.
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
