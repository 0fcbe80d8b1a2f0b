/// What a file of devices may name: push services, apps, attributes.
public struct DeviceVocabulary: Sendable {
  /// The services that tokens can be of.
  public var services: PushServices
  /// The apps of the configuration; `nil` where they are not known: then every name is taken.
  public var apps: Set<String>?
  /// Attributes whose names are nearly those of columns, and are meant.
  public var allowedAttributes: Set<String>

  /// Memberwise.
  public init(services: PushServices, apps: Set<String>? = nil, allowedAttributes: Set<String> = []) {
    self.services = services
    self.apps = apps
    self.allowedAttributes = allowedAttributes
  }

  /// What is wrong with the name of an attribute, if anything is: nearly a column's is a slip of the pen, and the column
  /// would be missing without a word.
  public func checkAttributeName(_ name: String) throws(DeviceRowDraft.Problem) {
    let maximum = DeviceRowDraft.maximumAttributeName
    guard (1...maximum).contains(name.utf8.count), !name.unicodeScalars.contains(where: Excerpt.isControl) else {
      throw .init(
        description: "\(Excerpt.quoted(name)) can't name an attribute: 1 to \(maximum) bytes without control characters"
      )
    }
    guard !allowedAttributes.contains(name), let column = Self.column(near: name) else { return }
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
