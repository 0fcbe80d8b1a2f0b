/// Condition on a device and its user, such as `locale = 'en' & appVersion >= '5.2' & lastSeen < 30d`.
///
/// A test on an unknown value is false. `!=` therefore matches only known values; `!(locale = 'en')` also matches
/// unknown ones.
public struct DevicePredicate: Sendable, Equatable {
  /// Node of the condition.
  public indirect enum Node: Sendable, Equatable, BooleanNode {
    case test(Field, Test)
    case not(Node)
    case and(Node, Node)
    case or(Node, Node)
  }

  /// Field that a test reads.
  public enum Field: Sendable, Equatable {
    case text(TextField)
    case version(VersionField)
    case time(TimeField)
    /// Attribute of the user, by its position in ``DevicePredicate/attributes``.
    case attribute(Int)
  }

  /// Text fields of a device whose values have no order. Raw values are names in a job.
  public enum TextField: String, CaseIterable, Sendable {
    /// Locale of the device. A test matches more specific locales too: `en` matches `en-GB` (RFC 4647, section 3.3.1),
    /// and `es-419` matches `es-MX` (parent locales of CLDR).
    case locale
    case timezone, environment
  }

  /// Fields of a device that contain a version. The numbers in the version define its order.
  public enum VersionField: String, CaseIterable, Sendable {
    case appVersion, osVersion
  }

  /// Time fields of a device. A time that was never reported is unknown.
  public enum TimeField: String, CaseIterable, Sendable {
    case registeredAt, lastSeen
  }

  /// Test of a field's value.
  public enum Test: Sendable, Equatable {
    case exists
    case compare(Comparison, Literal)
    case isOneOf([Literal])
    /// The value begins with this text, in UTF-8.
    case prefix([UInt8])
  }

  /// Comparison of two values. Raw values are the operators in a job.
  public enum Comparison: String, CaseIterable, Sendable {
    case equal = "=", unequal = "!=", less = "<", lessOrEqual = "<=", greater = ">", greaterOrEqual = ">="

    /// Returns whether the comparison is true for the order of two values: negative if the first value is less than the
    /// second, 0 if they are equal, positive if it is greater.
    func matches(_ order: Int) -> Bool {
      switch self {
      case .equal: order == 0
      case .unequal: order != 0
      case .less: order < 0
      case .lessOrEqual: order <= 0
      case .greater: order > 0
      case .greaterOrEqual: order >= 0
      }
    }

    /// Whether the comparison needs an order of the values, not only equality.
    var isOrder: Bool { self != .equal && self != .unequal }
  }

  /// Value in a condition.
  public enum Literal: Sendable, Equatable {
    /// Text in UTF-8.
    case text([UInt8])
    case language(LanguageTag)
    case version(Version)
    case number(Double)
    case bool(Bool)
    /// Age of a time at the campaign's start, in milliseconds.
    case age(Int)
    /// Milliseconds since the epoch.
    case instant(Int)
  }

  /// Root node: the whole condition.
  public let root: Node
  /// Names of the users' attributes that the condition tests, each once.
  public let attributes: [String]
  /// Text of the condition as written.
  private let text: String

  /// Maximum nesting of parentheses and `!`.
  public static let maximumNesting = 32
  /// Maximum number of tests in one condition. Each test is evaluated for every device.
  public static let maximumTests = 64
  /// Maximum number of values in a list.
  public static let maximumValues = 256

  /// Parses `locale = 'en' & (appVersion >= '5.2' | plan in ('gold', 'silver')) & !(city exists)`.
  ///
  /// The fields of devices are the cases of ``TextField``, ``VersionField`` and ``TimeField``. Any other name is an
  /// attribute of the user. The name of an attribute needs double quotes if it contains other characters than letters,
  /// digits, `_`, `.` and `-`. Texts and times need single quotes; numbers, `true`, `false` and durations have none.
  /// `!` binds tighter than `&`, and `&` tighter than `|`.
  ///
  /// - Throws: the first error with its column.
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
  /// Text of the condition as written.
  public var description: String { text }
}

extension DevicePredicate {
  /// Version: numbers with dots between them, such as `5.10.1`. Missing numbers at the end count as 0. Text after the
  /// last number (`5.10-beta`) is ignored.
  public struct Version: Sendable, Equatable {
    /// The numbers of the version, at most ``most``.
    public let numbers: [Int]

    /// Maximum number of parts; real versions have fewer.
    static let most = 8

    /// - Returns: `nil` for a text that does not begin with a number.
    public init?(_ text: some Sequence<UInt8>) {
      var numbers: [Int] = []
      var number: Int?
      for byte in text {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"):
          // A number that is too large for an Int is replaced by a number that is larger than all real ones.
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

    /// Returns the order: negative if this version is before the other one, 0 if they are equal, positive if it is
    /// after the other one.
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
