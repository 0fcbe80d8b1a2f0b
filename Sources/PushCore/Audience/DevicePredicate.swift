/// A condition on a device and its user, such as `locale = 'en' & appVersion >= '5.2' & lastSeen < 30d`.
///
/// What nobody knows meets no test: `!=` too holds of what is known only, and `!(locale = 'en')` of the rest as well.
public struct DevicePredicate: Sendable, Equatable {
  /// One node of the condition.
  public indirect enum Node: Sendable, Equatable {
    case test(Field, Test)
    case not(Node)
    case and(Node, Node)
    case or(Node, Node)
  }

  /// What is asked about.
  public enum Field: Sendable, Equatable {
    case text(TextField)
    case version(VersionField)
    case time(TimeField)
    /// An attribute of the user, by its place in ``DevicePredicate/attributes``.
    case attribute(Int)
  }

  /// Texts of a device that have no order. Raw values are names in a job.
  public enum TextField: String, CaseIterable, Sendable {
    /// A language range of RFC 4647, section 3.3.1, or a parent locale of CLDR: `en` is `en-GB` too, `es-419` is `es-MX` too.
    case locale
    case timezone, environment
  }

  /// Texts of a device that are ordered by their numbers.
  public enum VersionField: String, CaseIterable, Sendable {
    case appVersion, osVersion
  }

  /// Instants of a device; one that nobody said is not known.
  public enum TimeField: String, CaseIterable, Sendable {
    case registeredAt, lastSeen
  }

  /// What is asked of it.
  public enum Test: Sendable, Equatable {
    case exists
    case compare(Comparison, Literal)
    case isOneOf([Literal])
    /// It begins with this text, in UTF-8.
    case prefix([UInt8])
  }

  /// How two values compare. Raw values are as a job writes them.
  public enum Comparison: String, CaseIterable, Sendable {
    case equal = "=", unequal = "!=", less = "<", lessOrEqual = "<=", greater = ">", greaterOrEqual = ">="

    /// Whether it holds of a value that is ordered so against another: negative before, 0 the same, positive behind.
    func holds(_ order: Int) -> Bool {
      switch self {
      case .equal: order == 0
      case .unequal: order != 0
      case .less: order < 0
      case .lessOrEqual: order <= 0
      case .greater: order > 0
      case .greaterOrEqual: order >= 0
      }
    }

    /// Whether it asks for an order, not only for sameness.
    var isOrder: Bool { self != .equal && self != .unequal }
  }

  /// A value as the condition has it.
  public enum Literal: Sendable, Equatable {
    /// In UTF-8.
    case text([UInt8])
    case language(LanguageTag)
    case version(Version)
    case number(Double)
    case bool(Bool)
    /// Milliseconds between an instant and the campaign's start.
    case age(Int)
    /// Milliseconds since the epoch.
    case instant(Int)
  }

  /// The whole condition.
  public let root: Node
  /// The attributes of users that it asks about, each once.
  public let attributes: [String]
  /// As it was written.
  private let text: String

  /// How deep parentheses and `!` may nest.
  public static let maximumNesting = 32
  /// How many tests one condition may have: each is made for every device.
  public static let maximumTests = 64
  /// How many values a list may have.
  public static let maximumValues = 256

  /// Parses `locale = 'en' & (appVersion >= '5.2' | plan in ('gold', 'silver')) & !(city exists)`.
  ///
  /// Fields of devices are those of ``TextField``, ``VersionField`` and ``TimeField``; any other name is an attribute of the
  /// user, in double quotes if it is not made of letters, digits, `_`, `.` and `-`. Texts and instants stand in single
  /// quotes, numbers, `true`, `false` and durations do not. `!` binds tighter than `&`, `&` tighter than `|`.
  ///
  /// - Throws: the first thing that is wrong, and its column.
  public init(parsing text: String) throws(AudienceExpressionError) {
    var parser = DevicePredicateParser(text)
    root = try parser.parse()
    attributes = parser.attributes
    self.text = text
  }

  public static func == (left: DevicePredicate, right: DevicePredicate) -> Bool {
    left.root == right.root && left.attributes == right.attributes
  }
}

extension DevicePredicate: CustomStringConvertible {
  /// As it was written.
  public var description: String { text }
}

extension DevicePredicate {
  /// Numbers with dots between them, such as `5.10.1`: what is missing behind the last counts as 0, and what follows the
  /// last number (`5.10-beta`) counts for nothing.
  public struct Version: Sendable, Equatable {
    /// At most ``most``.
    public let numbers: [Int]

    /// More parts than any version has.
    static let most = 8

    /// - Returns: `nil` for a text that does not begin with a number.
    public init?(_ text: some Sequence<UInt8>) {
      var numbers: [Int] = []
      var number: Int?
      for byte in text {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"):
          // A number of more digits than an Int has is larger than any other, that is all.
          let (next, overflow) = (number ?? 0).multipliedReportingOverflow(by: 10)
          number = overflow || next > .max - 9 ? .max / 100 : next + Int(byte - UInt8(ascii: "0"))
          continue
        case UInt8(ascii: "."):
          guard let part = number, numbers.count < Self.most else { break }
          numbers.append(part)
          number = nil
          continue
        default: break
        }
        break
      }
      if let number, numbers.count < Self.most { numbers.append(number) }
      guard !numbers.isEmpty else { return nil }
      while numbers.count > 1, numbers.last == 0 { numbers.removeLast() }
      self.numbers = numbers
    }

    /// Negative before the other, 0 for the same, positive behind it.
    func order(against other: Version) -> Int {
      for index in 0..<max(numbers.count, other.numbers.count) {
        let left = index < numbers.count ? numbers[index] : 0
        let right = index < other.numbers.count ? other.numbers[index] : 0
        if left != right { return left < right ? -1 : 1 }
      }
      return 0
    }
  }
}
