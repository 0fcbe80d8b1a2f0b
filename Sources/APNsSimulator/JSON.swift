private import Foundation

/// Reads and writes JSON for the simulator, with Foundation. Lists of devices have millions of lines, so
/// ``FlatObjectScanner`` reads them instead.
enum JSON {
  /// Returns any value: dictionaries, arrays, text, numbers; `nil` if the text is not JSON.
  static func read(_ text: some Sequence<UInt8>) -> Any? {
    try? JSONSerialization.jsonObject(with: Data(text), options: .fragmentsAllowed)
  }

  /// Returns a value of the given type.
  ///
  /// - Throws: a `DecodingError`.
  static func read<Value: Decodable>(_ type: Value.Type, from text: some Sequence<UInt8>) throws -> Value {
    try JSONDecoder().decode(type, from: Data(text))
  }

  /// Returns a value of ``read(_:)`` as text; `nil` if JSON can't represent it.
  static func write(object: Any) -> [UInt8]? {
    guard JSONSerialization.isValidJSONObject(object) else { return nil }
    let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
    return (try? JSONSerialization.data(withJSONObject: object, options: options)).map { Array($0) }
  }

  /// Returns a value as text with sorted keys, so that two texts are easy to compare. Returns `nil` if JSON can't
  /// represent a number, such as an infinite share.
  static func write(_ value: some Encodable) -> [UInt8]? {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(value)).map { Array($0) }
  }
}
