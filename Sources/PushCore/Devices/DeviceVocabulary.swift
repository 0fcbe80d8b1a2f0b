/// What a file of devices may name: push services, apps, attributes.
public struct DeviceVocabulary: Sendable {
  /// The services that tokens can be of.
  public var services: PushServices
  /// The apps of the configuration; `nil` where they are not known: then every name is taken.
  public var apps: Set<String>?
  /// Attributes whose names are nearly those of columns, and are meant.
  public var allowedAttributes: Set<String>

  /// The current time in ms since 1970: no instant may be more than a day ahead of it.
  public var now: Int

  /// Memberwise.
  public init(services: PushServices, apps: Set<String>? = nil, allowedAttributes: Set<String> = [], now: Int) {
    self.services = services
    self.now = now
    self.apps = apps
    self.allowedAttributes = allowedAttributes
  }

  /// Returns the name of an attribute as ``AttributeName`` reads it.
  ///
  /// - Throws: for a name that can't be one, and for a name that is nearly a column's: the column would be missing in silence.
  public func attributeName(_ text: String) throws(DeviceRowDraft.Problem) -> String {
    let name: String
    do throws(IdentifierError) {
      name = try AttributeName.read(text)
    } catch {
      throw .init(description: "\(Excerpt.quoted(text)) can't name an attribute: \(error)")
    }
    guard !allowedAttributes.contains(name), let column = Self.column(near: name) else { return name }
    throw .init(
      description: "\(Excerpt.quoted(name)) is nearly the column \(column.rawValue): name it so, or say that it is an "
        + "attribute: --allow-attribute \(Excerpt.bare(name))")
  }

  /// The column that a name was probably meant for: written otherwise, or with a slip or two.
  static func column(near name: String) -> DeviceColumn? {
    guard name.utf8.count <= Nearest.longestName else { return nil }
    let plain = letters(of: name)
    return DeviceColumn.allCases.first { column in
      let wanted = letters(of: column.rawValue)
      // Of a short name a slip makes another word.
      let slips = wanted.count < 4 ? 0 : wanted.count < 8 ? 1 : 2
      // Whole syllables more or less make another word too.
      return abs(plain.count - wanted.count) <= 1 && Nearest.distance(plain, wanted) <= slips
    }
  }

  private static func letters(of name: String) -> [UInt8] {
    name.lowercased().utf8.filter { $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: " ") }
  }
}
