/// Allowed names in a device file: push services, apps and attributes.
public struct DeviceVocabulary: Sendable {
  /// Allowed push services of tokens.
  public var services: PushServices
  /// Apps of the configuration; `nil` if they are unknown, so that every name is allowed.
  public var apps: Set<String>?
  /// App of devices whose rows name no app; `nil` for none.
  public var app: String?
  /// Attributes that are allowed although their names are similar to those of columns.
  public var allowedAttributes: Set<String>

  /// Current time in ms since 1970. A time in a file may be at most one day ahead.
  public var now: Int

  /// Creates an instance with these values.
  public init(
    services: PushServices, apps: Set<String>? = nil, app: String? = nil, allowedAttributes: Set<String> = [], now: Int
  ) {
    self.services = services
    self.now = now
    self.apps = apps
    self.app = app
    self.allowedAttributes = allowedAttributes
  }

  /// Returns the name of an attribute in the form of ``AttributeName``.
  ///
  /// - Throws: an error for an invalid name, and for a name that is similar to the name of a column. Without this
  ///   error, a misspelt column would be stored as an attribute.
  public func attributeName(_ text: String) throws(DeviceRowDraft.Problem) -> String {
    let name: String
    do throws(IdentifierError) {
      name = try AttributeName.read(text)
    } catch {
      throw .init(description: "\(Excerpt.quoted(text)) is not a valid attribute name: \(error)")
    }
    guard !allowedAttributes.contains(name), let column = Self.column(near: name) else { return name }
    throw .init(
      description: "\(Excerpt.quoted(name)) is similar to the column \(column.rawValue): rename it, or if it is an "
        + "attribute, add --allow-attribute \(Excerpt.bare(name))")
  }

  /// Returns the column that a name probably means: the name is another spelling of the column's name, or differs from
  /// it by one or two typing errors.
  static func column(near name: String) -> DeviceColumn? {
    guard name.utf8.count <= Nearest.longestName else { return nil }
    let plain = letters(of: name)
    return DeviceColumn.allCases.first { column in
      let wanted = letters(of: column.rawValue)
      // In a short name, a single typing error makes another word, so none is allowed.
      let slips = wanted.count < 4 ? 0 : wanted.count < 8 ? 1 : 2
      // Words whose lengths differ by more than one letter are not misspellings of each other.
      return abs(plain.count - wanted.count) <= 1 && Nearest.distance(plain, wanted) <= slips
    }
  }

  private static func letters(of name: String) -> [UInt8] {
    name.lowercased().utf8.filter { $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: " ") }
  }
}
