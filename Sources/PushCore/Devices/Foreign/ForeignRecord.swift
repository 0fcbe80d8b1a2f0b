/// Record of a foreign export, converted to Carillon's rows.
///
/// A record may have several devices in a list (``ForeignMeaning/each(_:)``). A record may also have no device of a
/// push service that the app uses. If a detail is invalid, such as an unknown time zone, the detail is dropped and the
/// device is kept.
struct ForeignRecord {
  /// Facts about a device. A device in a list begins with the facts of the whole record and adds its own.
  private struct Facts {
    var columns: [DeviceColumn: (text: String, name: String)] = [:]
    var fallbacks: [DeviceColumn: (text: String, name: String)] = [:]
    var attributes: [String: (text: String, name: String)] = [:]
    var service: ForeignDevice.Service?
    /// A token that is not an APNs token, in a column that may contain such tokens.
    var otherToken: (text: String, name: String)?
    var reason: String?
  }

  private let system: ForeignSystem
  private let vocabulary: DeviceVocabulary
  /// Reasons why values can't be ids, by the names of the members.
  private let idProblems: [String: String]
  private var shared = Facts()
  private var lists: [(mapping: ForeignMapping, path: String, elements: [JSONValue])] = []

  private static let noToken = "no token"

  /// Maximum nesting of the JSON in a record. Records of all systems are flatter.
  static let maximumNesting = 32

  private init(_ system: ForeignSystem, _ vocabulary: DeviceVocabulary, _ idProblems: [String: String] = [:]) {
    self.system = system
    self.vocabulary = vocabulary
    self.idProblems = idProblems
  }

  /// Returns the rows of the devices in a record.
  ///
  /// - Parameters:
  ///   - members: the members of the record's object, or the fields of a CSV record as texts with their names.
  ///   - idProblems: the reasons why values can't be ids, by the names of the members.
  ///   - seen: the summary of the export, to which the columns and the devices that are not imported are added.
  /// - Returns: a row or its error for each device that is imported.
  static func rows(
    _ members: [(name: String, value: JSONValue)], idProblems: [String: String], of system: ForeignSystem,
    _ vocabulary: DeviceVocabulary, _ seen: inout ForeignColumns
  ) throws(DeviceRowDraft.Problem) -> [Result<DeviceRow, DeviceRowDraft.Problem>] {
    var record = ForeignRecord(system, vocabulary, idProblems)
    var shared = Facts()
    try record.read(members, of: system.mapping, below: "", into: &shared, &seen)
    if let reason = shared.reason {
      seen.countOmitted(reason, record.devices)
      return []
    }
    guard !record.lists.isEmpty else {
      return record.row(shared, lacksUsers: system.mapping.lacksUsers, &seen).map { [$0] } ?? []
    }
    record.shared = shared
    return record.listed(&seen)
  }

  /// Number of devices in the record.
  private var devices: Int { lists.isEmpty ? 1 : lists.reduce(0) { $0 + $1.elements.count } }

  private func listed(_ seen: inout ForeignColumns) -> [Result<DeviceRow, DeviceRowDraft.Problem>] {
    var rows: [Result<DeviceRow, DeviceRowDraft.Problem>] = []
    for (mapping, path, elements) in lists {
      if elements.isEmpty { seen.countOmitted(Self.noToken) }
      for element in elements {
        do throws(DeviceRowDraft.Problem) {
          var inner = ForeignRecord(system, vocabulary)
          var facts = shared
          switch element.kind {
          case .object(let members):
            try inner.read(members.map { ($0.name, $0.value) }, of: mapping, below: path + ".", into: &facts, &seen)
          case .string(let token): facts.columns[.token] = (token, path)
          default: throw .init(description: "\(path): has \(element.kindName) where a device should be")
          }
          if let reason = facts.reason {
            seen.countOmitted(reason, inner.devices)
          } else if inner.lists.isEmpty {
            if let row = row(facts, lacksUsers: mapping.lacksUsers, &seen) { rows.append(row) }
          } else {
            inner.shared = facts
            rows += inner.listed(&seen)
          }
        } catch {
          rows.append(.failure(error))
        }
      }
    }
    return rows
  }

  private mutating func read(
    _ members: [(name: String, value: JSONValue)], of mapping: ForeignMapping, below prefix: String,
    into facts: inout Facts, _ seen: inout ForeignColumns
  ) throws(DeviceRowDraft.Problem) {
    for (name, value) in members {
      try read(value, of: mapping, path: name, shown: prefix + name, into: &facts, &seen)
    }
  }

  /// Reads a value of the record, and adds its meaning to `facts`.
  ///
  /// - Parameters:
  ///   - path: the path of the value in the mapping.
  ///   - shown: the path of the value in the record, for messages.
  private mutating func read(
    _ value: JSONValue, of mapping: ForeignMapping, path: String, shown: String, into facts: inout Facts,
    _ seen: inout ForeignColumns
  ) throws(DeviceRowDraft.Problem) {
    if case .null = value.kind { return }
    guard let meaning = mapping.meaning(of: path) else {
      if case .object(let members) = value.kind, mapping.hasMembers(of: path) {
        for member in members {
          try read(
            member.value, of: mapping, path: "\(path).\(member.name)", shown: "\(shown).\(member.name)", into: &facts,
            &seen)
        }
        return
      }
      let isAttribute = vocabulary.allowedAttributes.contains(shown)
      seen.record(shown, isAttribute ? "attribute \(shown)" : nil)
      if isAttribute { add(value, as: shown, of: shown, into: &facts) }
      return
    }
    seen.record(shown, meaning.explanation)
    switch meaning {
    case .nothing: break
    case .column(let column, let form):
      if column == .user, let problem = idProblems[shown] { throw .init(description: "\(shown): \(problem)") }
      if let text = form.text(column == .user ? try Self.id(value, shown) : value), facts.columns[column] == nil {
        facts.columns[column] = (text, shown)
      }
    case .fallback(let column, let form):
      if let text = form.text(value) { facts.fallbacks[column] = (text, shown) }
    case .attribute(let name): add(value, as: name, of: shown, into: &facts)
    case .attributes:
      for member in try Self.object(value, shown) { add(member.value, as: member.name, of: shown, into: &facts) }
    case .device(let known, let otherwise):
      guard let text = value.scalarText else { return }
      guard let device = known[text.lowercased()] ?? otherwise else {
        throw .init(
          description: "\(shown): \(Excerpt.quoted(text)) is not a known value of \(system.rawValue): "
            + known.keys.sorted().joined(separator: ", "))
      }
      if let kind = device.kind { facts.columns[.kind] = (kind.rawValue, shown) }
      if let environment = device.environment { facts.columns[.environment] = (environment.rawValue, shown) }
      if let service = device.service { facts.service = service }
      facts.reason = facts.reason ?? device.reason
    case .anyToken(let reason):
      guard let text = value.scalarText else { return }
      if Self.isHex(text) {
        facts.columns[.token] = facts.columns[.token] ?? (text, shown)
      } else {
        // If another column has the APNs token, the device gets that token instead.
        facts.fallbacks[.token] = (reason, shown)
        facts.otherToken = (text, shown)
      }
    case .each(let mapping): try list(value, mapping, shown)
    case .tokens: try list(value, mapping, shown)
    }
  }

  private mutating func list(
    _ value: JSONValue, _ mapping: ForeignMapping, _ name: String
  ) throws(DeviceRowDraft.Problem) {
    guard case .array(let elements) = value.kind else {
      throw .init(description: "\(name): must be a list, not \(value.kindName)")
    }
    lists.append((mapping, name, elements))
  }

  private func add(_ value: JSONValue, as name: String, of column: String, into facts: inout Facts) {
    guard let text = value.scalarText else { return }
    // A condition can't refer to an attribute with the name of a column.
    let name = DeviceColumn(rawValue: name) == nil ? name : "\(system.rawValue).\(name)"
    facts.attributes[name] = (text, column)
  }

  /// Returns the row of a device; `nil` if the device is not imported.
  private func row(
    _ facts: Facts, lacksUsers: Bool, _ seen: inout ForeignColumns
  ) -> Result<DeviceRow, DeviceRowDraft.Problem>? {
    var facts = facts
    if let service = facts.service {
      let app = facts.columns[.app]?.text ?? vocabulary.app ?? ""
      guard vocabulary.services.services(ofApp: app).contains(where: { $0.name == service.rawValue }) else {
        seen.countOmitted(service.vendor)
        return nil
      }
      facts.columns[.service] = (service.rawValue, "")
      if service == .fcm { facts.columns[.token] = facts.otherToken ?? facts.columns[.token] }
    }
    guard facts.columns[.token] != nil else {
      seen.countOmitted(facts.fallbacks[.token]?.text ?? Self.noToken)
      return nil
    }
    var draft = DeviceRowDraft(vocabulary)
    var columns = facts.columns.merging(facts.fallbacks.filter { $0.key != .token }) { own, _ in own }
    if lacksUsers, columns[.user] == nil { columns[.user] = columns[.token] }
    do throws(DeviceRowDraft.Problem) {
      for (column, (text, name)) in columns {
        do throws(DeviceRowDraft.Problem) {
          try draft.set(column, to: text)
        } catch {
          guard column.isDetail else { throw error }
          seen.refuse(text, of: name)
        }
      }
      var count = 0
      for (attribute, (text, name)) in facts.attributes.sorted(by: { $0.key < $1.key }) {
        guard let attribute = try? AttributeName.read(attribute),
          text.utf8.count <= DeviceRowDraft.maximumAttributeValue, count < DeviceRowDraft.maximumAttributes
        else {
          seen.refuse(text, of: name)
          continue
        }
        try draft.setAttribute(attribute, to: text)
        count += 1
      }
      return .success(try draft.row())
    } catch {
      return .failure(error)
    }
  }

  /// Returns the members of an object. In CSV, the object is the JSON text of a field.
  private static func object(_ value: JSONValue, _ name: String) throws(DeviceRowDraft.Problem) -> [JSONValue.Member] {
    switch value.kind {
    case .object(let members): return members
    case .string(let text):
      guard !text.isEmpty else { return [] }
      guard let parsed = try? JSONValue(parsing: Array(text.utf8), maximumDepth: maximumNesting),
        case .object(let members) = parsed.kind
      else { throw .init(description: "\(name): \(Excerpt.quoted(text)) is not a JSON object") }
      return members
    default: throw .init(description: "\(name): must be an object, not \(value.kindName)")
    }
  }

  /// Returns the value of an id; a number is converted as in ``UserID``.
  private static func id(_ value: JSONValue, _ name: String) throws(DeviceRowDraft.Problem) -> JSONValue {
    switch value.kind {
    case .number, .bool, .object, .array:
      do throws(IdentifierError) {
        return JSONValue(kind: .string(try UserID.read(value)), range: value.range)
      } catch {
        throw .init(description: "\(name): \(error)")
      }
    case .string, .null: return value
    }
  }

  /// Returns whether a text may be an APNs token: at least 32 bytes in hex. FCM tokens contain other letters.
  private static func isHex(_ text: String) -> Bool { text.utf8.count >= 64 && text.allSatisfy(\.isHexDigit) }
}

extension DeviceColumn {
  /// Whether the device is imported without this column if the column has an invalid value.
  fileprivate var isDetail: Bool {
    switch self {
    case .locale, .timezone, .appVersion, .osVersion, .registeredAt, .lastSeen: true
    case .user, .token, .service, .kind, .app, .environment, .activity: false
    }
  }
}
