import CampaignStore
import PushCore

/// Brings the rows of a file into the store, in batches: one is being stored while the next is being read.
///
/// Batches are stored one after the other, and a batch holds a token for one user only: who has a token is decided by the
/// order of the file, and a move must have ended before the next one of the same token begins.
struct DeviceImport {
  /// Rows of a batch: some 16 for every partition of a usual store, and some hundred kB on the way to Redis.
  private static let batch = 4096

  private let store: CampaignStore
  /// For rows that name none; empty for none.
  private let app: String
  private var registrations: [DeviceRegistration] = []
  private var owners: [DeviceToken: String] = [:]
  private var storing: Task<[Bool], any Error>?
  private(set) var imported = 0
  private(set) var outdated = 0

  init(store: CampaignStore, app: String) {
    self.store = store
    self.app = app
    registrations.reserveCapacity(Self.batch)
  }

  mutating func add(_ row: DeviceRow) async throws {
    if owners.updateValue(row.user, forKey: row.token).map({ $0 != row.user }) ?? false {
      try await flush()
      owners[row.token] = row.user
    }
    registrations.append(DeviceRegistration(row, app: app))
    if registrations.count >= Self.batch { try await flush() }
  }

  /// Stores what is left, and waits for it.
  mutating func finish() async throws {
    try await flush()
    try await awaitWrites()
  }

  private mutating func flush() async throws {
    try await awaitWrites()
    guard !registrations.isEmpty else { return }
    let batch = registrations
    storing = Task { [store] in try await store.register(batch) }
    registrations.removeAll(keepingCapacity: true)
    owners.removeAll(keepingCapacity: true)
  }

  private mutating func awaitWrites() async throws {
    guard let storing else { return }
    self.storing = nil
    for stands in try await storing.value {
      if stands { imported += 1 } else { outdated += 1 }
    }
  }
}

extension DeviceRegistration {
  /// - Parameter app: for a row that names none.
  init(_ row: DeviceRow, app: String) {
    var device = DeviceRecord(token: row.token.bytes, service: row.service)
    device.kind = row.kind
    device.registeredAt = UInt64(row.registeredAt ?? 0)
    device.lastSeen = UInt64(row.lastSeen ?? 0)
    device.app = row.app ?? app
    device.environment = row.environment?.rawValue ?? ""
    device.locale = row.locale ?? ""
    device.timezone = row.timezone ?? ""
    device.appVersion = row.appVersion ?? ""
    device.osVersion = row.osVersion ?? ""
    self.init(user: row.user, device: device, attributes: Self.json(row.attributes))
  }

  /// Attributes as the store keeps them: a JSON object of strings, or nothing.
  private static func json(_ attributes: [String: String]) -> [UInt8] {
    guard !attributes.isEmpty else { return [] }
    var json = JSONWriter()
    json.beginObject()
    for (name, value) in attributes.sorted(by: { $0.key < $1.key }) { json.member(name, value) }
    json.endObject()
    return json.bytes
  }
}
