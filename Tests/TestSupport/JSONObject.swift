import Foundation

/// A JSON object that a command printed.
public struct JSONObject: CustomStringConvertible {
  /// The original text.
  public let description: String
  private let members: [String: Any]

  /// - Throws: `TestSupportError` if the text is not a JSON object.
  public init(_ text: String) throws {
    guard let members = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] else {
      throw TestSupportError("not a JSON object: \(text)")
    }
    self.init(members: members)
  }

  /// Returns the objects of a JSON array, or of lines with one object each.
  public static func all(in text: String) throws -> [JSONObject] {
    if text.hasPrefix("[") {
      guard let array = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [[String: Any]] else {
        throw TestSupportError("not an array of JSON objects: \(text)")
      }
      return array.map(JSONObject.init(members:))
    }
    return try text.split(separator: "\n").map { try JSONObject(String($0)) }
  }

  private init(members: [String: Any]) {
    self.members = members
    description = "\(members)"
  }

  /// The names of its members.
  public var names: Set<String> { Set(members.keys) }

  /// Returns a member that is a string.
  public func text(_ name: String) -> String? { members[name] as? String }

  /// Returns a member that is an integer.
  public func number(_ name: String) -> Int? { members[name] as? Int }

  /// Returns a member that is a number.
  public func double(_ name: String) -> Double? { members[name] as? Double }

  /// Returns a member that is a boolean.
  public func bool(_ name: String) -> Bool? { members[name] as? Bool }

  /// Returns whether a member is null.
  public func isNull(_ name: String) -> Bool { members[name] is NSNull }

  /// Returns a member that is an object.
  public func object(_ name: String) -> JSONObject? { (members[name] as? [String: Any]).map(JSONObject.init(members:)) }

  /// Returns a member that is an array of strings.
  public func texts(_ name: String) -> [String]? { members[name] as? [String] }

  /// Returns a member that is an array of objects.
  public func objects(_ name: String) -> [JSONObject]? {
    (members[name] as? [[String: Any]])?.map(JSONObject.init(members:))
  }

  /// The members that are integers.
  public var numbers: [String: Int] { members.compactMapValues { $0 as? Int } }
}
