/// Device row under construction. The draft gets the text of each column from a file or from the command line, and
/// checks the text.
public struct DeviceRowDraft: Sendable {
  /// Error in a column or a row.
  public struct Problem: Error, Equatable, Sendable, CustomStringConvertible {
    /// One sentence without the line number.
    public var description: String

    /// Creates an instance with these values.
    init(description: String) { self.description = description }

    init(_ error: IdentifierError) { description = error.description }
  }

  /// Maximum number of attributes of one user. A worker reads all of them for every personalised push.
  public static let maximumAttributes = 64
  /// Maximum length of an attribute's name in bytes.
  public static let maximumAttributeName = 64
  /// Maximum length of an attribute's value in bytes: a quarter of the usual maximum payload (4,096 bytes).
  public static let maximumAttributeValue = 1024

  /// Maximum length in bytes of a detail, such as a version. Versions have about a dozen bytes. A longer text suggests
  /// that columns were mixed up.
  private static let maximumDetail = 64

  private let vocabulary: DeviceVocabulary
  private var user: String?
  private var token: String?
  private var service: (any PushService)?
  private var kind: TokenKind?
  private var activity: String?
  private var app: String?
  private var environment: PushEnvironment?
  private var locale: String?
  private var timezone: String?
  private var appVersion: String?
  private var osVersion: String?
  private var registeredAt: Int?
  private var lastSeen: Int?
  private var attributes: [String: String] = [:]
  private var refusal: String?

  /// Creates an empty draft.
  ///
  /// - Parameter vocabulary: the allowed services, apps and attributes.
  public init(_ vocabulary: DeviceVocabulary) {
    self.vocabulary = vocabulary
  }

  /// Sets a column. White space at both ends is removed. An empty text means that the column is missing.
  public mutating func set(_ column: DeviceColumn, to text: String) throws(Problem) {
    let text = Identifier.trimmed(text)
    guard !text.isEmpty else { return }
    switch column {
    case .user:
      do throws(IdentifierError) { user = try UserID.read(text) } catch { throw Problem(error) }
    case .token: token = text
    case .service:
      guard let known = vocabulary.services[text] else {
        throw Problem(
          description:
            "service: \(Excerpt.quoted(text)) is not one of \(vocabulary.services.names.joined(separator: ", "))")
      }
      service = known
    case .kind:
      guard let known = TokenKind(rawValue: text) else {
        throw Problem(
          description: "kind: \(Excerpt.quoted(text)) is not one of "
            + TokenKind.allCases.map(\.rawValue).joined(separator: ", "))
      }
      kind = known
    case .activity:
      guard PlainName.isValid(text) else {
        throw Problem(description: "activity: \(Excerpt.quoted(text)) is not \(PlainName.form)")
      }
      activity = text
    case .app:
      guard PlainName.isValid(text) else {
        throw Problem(description: "app: \(Excerpt.quoted(text)) is not \(PlainName.form)")
      }
      if let apps = vocabulary.apps, !apps.contains(text) {
        throw Problem(
          description: "app: no app \(Excerpt.quoted(text)) in the configuration; \(Nearest.hint(text, among: apps))")
      }
      app = text
    case .environment:
      guard let parsed = PushEnvironment(rawValue: text) else {
        throw Problem(description: "environment: \(Excerpt.quoted(text)) is neither production nor sandbox")
      }
      environment = parsed
    case .locale:
      do throws(LanguageTag.Problem) {
        locale = try LanguageTag(checking: text).description
      } catch {
        throw Problem(description: "locale: \(Excerpt.quoted(text)) \(error.message); \(error.hint)")
      }
    case .timezone:
      do throws(ZoneName.Problem) {
        timezone = try ZoneName(checking: text).text
      } catch {
        throw Problem(description: "timezone: \(Excerpt.quoted(text)) \(error.message); \(error.hint)")
      }
    case .appVersion: appVersion = try version(column, text)
    case .osVersion: osVersion = try version(column, text)
    case .registeredAt: registeredAt = try instant(column, text)
    case .lastSeen: lastSeen = try instant(column, text)
    }
  }

  /// Sets a column like ``set(_:to:)``, but accepts a device with an invalid time zone and reports the problem in
  /// ``DeviceRow/refusal``.
  public mutating func accept(_ column: DeviceColumn, _ text: String) throws(Problem) {
    do throws(Problem) {
      try set(column, to: text)
    } catch {
      guard column == .timezone else { throw error }
      refusal = "\(error.description) (the device is stored without a time zone)"
    }
  }

  /// Sets an attribute whose name was checked by ``DeviceVocabulary/attributeName(_:)``. An empty text means that the
  /// attribute is missing. The value is stored in NFC, so that a condition matches it.
  public mutating func setAttribute(_ name: String, to text: String) throws(Problem) {
    guard !text.isEmpty else { return }
    let text = Identifier.composed(text)
    guard text.utf8.count <= Self.maximumAttributeValue else {
      throw Problem(
        description: "\(name): \(text.utf8.count) bytes, an attribute has at most \(Self.maximumAttributeValue)")
    }
    attributes[name] = text
    guard attributes.count <= Self.maximumAttributes else {
      throw Problem(description: "more than \(Self.maximumAttributes) attributes")
    }
  }

  /// Returns the row; user and token are required. If the row has no service, the token belongs to the only service of
  /// the row's app. If the app has several services, the row must name one of them.
  public func row() throws(Problem) -> DeviceRow {
    guard let user else { throw Problem(description: "user: is missing") }
    guard let token else { throw Problem(description: "token: is missing") }
    let nameOfApp = app ?? vocabulary.app ?? ""
    let services = vocabulary.services.services(ofApp: nameOfApp)
    guard let service = self.service ?? (services.count == 1 ? services.first : nil) else {
      throw Problem(
        description: "service: is missing; app \(nameOfApp) uses \(services.map(\.name).joined(separator: ", "))")
    }
    if let problem = problem(of: service, nameOfApp, services) { throw problem }
    guard let parsed = service.token(token) else { throw Problem(description: "token: not \(service.tokenForm)") }
    guard activity == nil || kind == .liveActivity else {
      throw Problem(
        description: "activity: only a token of kind \(TokenKind.liveActivity.rawValue) can have an activity; "
          + "this one is of kind \((kind ?? .alert).rawValue)")
    }
    if let problem = service.problem(ofKind: kind ?? .alert, environment) { throw Problem(description: problem) }
    return DeviceRow(
      user: user, token: parsed, service: service.name, kind: kind ?? .alert, activity: activity, app: app,
      environment: environment, locale: locale, timezone: timezone,
      appVersion: appVersion, osVersion: osVersion, registeredAt: registeredAt, lastSeen: lastSeen,
      attributes: attributes, refusal: refusal)
  }

  /// Returns the problem if the app of the device does not use the push service of its token; `nil` for none. A device
  /// without an app belongs to every app, so at least one app must use the service.
  private func problem(of service: any PushService, _ app: String, _ used: [any PushService]) -> Problem? {
    func uses(_ services: [any PushService]) -> Bool { services.contains { $0.name == service.name } }
    guard app.isEmpty else {
      guard !uses(used) else { return nil }
      return Problem(
        description: "service: app \(app) does not use \(service.name); it uses "
          + used.map(\.name).joined(separator: ", "))
    }
    guard let apps = vocabulary.apps, !apps.contains(where: { uses(vocabulary.services.services(ofApp: $0)) }) else {
      return nil
    }
    return Problem(description: "service: no app in the configuration uses \(service.name)")
  }

  private func version(_ column: DeviceColumn, _ text: String) throws(Problem) -> String {
    guard text.utf8.count <= Self.maximumDetail, !text.unicodeScalars.contains(where: Excerpt.isControl) else {
      throw Problem(
        description: "\(column.rawValue): longer than \(Self.maximumDetail) bytes, or with control characters")
    }
    guard let version = VersionText.read(text) else {
      throw Problem(
        description: "\(column.rawValue): \(Excerpt.quoted(text)) is not a version; a version looks like 5.2 or v5.2")
    }
    return version
  }

  private func instant(_ column: DeviceColumn, _ text: String) throws(Problem) -> Int {
    do throws(IdentifierError) {
      return try InstantText.read(text, column.rawValue, now: vocabulary.now)
    } catch {
      throw Problem(error)
    }
  }
}
