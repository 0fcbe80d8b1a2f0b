private import Foundation

/// JSON in the simulator: the one place that reads it and the one that writes it, by Foundation. Only lists of devices,
/// which have millions of lines, are read otherwise: by ``FlatObjectScanner``.
enum JSON {
  /// Any value: dictionaries, arrays, text, numbers; `nil` for text that is no JSON.
  static func read(_ text: some Sequence<UInt8>) -> Any? {
    try? JSONSerialization.jsonObject(with: Data(text), options: .fragmentsAllowed)
  }

  /// A value of a type of ours.
  ///
  /// - Throws: a `DecodingError`.
  static func read<Value: Decodable>(_ type: Value.Type, from text: some Sequence<UInt8>) throws -> Value {
    try JSONDecoder().decode(type, from: Data(text))
  }

  /// What ``read(_:)`` gave, as text; `nil` for what can't be put in JSON.
  static func write(object: Any) -> [UInt8]? {
    guard JSONSerialization.isValidJSONObject(object) else { return nil }
    let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
    return (try? JSONSerialization.data(withJSONObject: object, options: options)).map { Array($0) }
  }

  /// A value of a type of ours as text, its keys in order, so that two texts can be compared by eye; `nil` for what can't
  /// be put in JSON, which is a number that JSON lacks, such as an infinite share.
  static func write(_ value: some Encodable) -> [UInt8]? {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(value)).map { Array($0) }
  }
}
