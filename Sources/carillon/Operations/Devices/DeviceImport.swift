import CampaignStore
import PushCore

/// Stores the rows of a file in batches. A registration has three steps (``Registry/bind(_:)``, `enter`, `complete`).
/// While the next batch is read, one batch is in flight in each step.
///
/// Each step processes the batches in the order of the file. So if several rows have the same token, the order of the
/// file decides which user owns it. A move of a token to another user must end before the next move of the same token
/// starts. A row therefore waits while a row in flight moves its token to another user.
struct DeviceImport {
  /// The position of a file's next row, with the counts of the rows before it.
  struct Position {
    var mark: DeviceRowReader.Position
    var rows: Int
    var skipped: Int
    var withoutZone: Int
  }

  /// Counts of the stored rows.
  struct Totals {
    var imported = 0
    var outdated = 0
    var evicted = 0
  }

  private struct Running {
    var settled: Task<Totals, any Error>
    var tokens: [Int: Int]
  }

  /// Rows per batch and partition. With 64 rows per script call, the fixed cost of a call is small.
  private static let rowsPerPartition = 64
  /// Allowed rows per batch: a few MB in flight to Redis.
  private static let batch = 4096...32_768
  /// Maximum number of batches in flight: one in each step of a registration.
  private static let concurrentBatches = 3

  private let store: CampaignStore
  /// The app of rows without an app; empty for none.
  private let app: String
  /// The name under which the position is stored; `nil` if it is not stored.
  private let file: String?
  private let size: Int
  private var pending: RegistrationBatch
  /// The hash of the user for the hash of each token in ``pending``. A hash collision only causes an unnecessary wait.
  private var tokens: [Int: Int] = [:]
  private var running: [Running] = []
  private var bound: Task<Registry.BoundRegistrations, any Error>?
  private var entered: Task<Registry.EnteredRegistrations, any Error>?
  private var settled: Task<Totals, any Error>?
  /// Counts of the finished batches.
  private(set) var totals: Totals

  /// - Parameters:
  ///   - store: the destination.
  ///   - app: the app of rows without an app; empty for none.
  ///   - file: the name under which the position is stored; `nil` if it is not stored.
  ///   - totals: the counts of rows that are already stored.
  init(store: CampaignStore, app: String, file: String?, totals: Totals = Totals()) {
    self.store = store
    self.app = app
    self.file = file
    self.totals = totals
    let usual = store.keys.partitions * Self.rowsPerPartition
    size = min(max(usual, Self.batch.lowerBound), Self.batch.upperBound)
    pending = store.registry.registrationBatch()
  }

  mutating func add(_ row: DeviceRow) async throws {
    let (token, user) = (row.token.hashValue, row.user.hashValue)
    if tokens.updateValue(user, forKey: token).map({ $0 != user }) ?? false {
      tokens[token] = nil
      try await flush(at: nil)
      tokens[token] = user
      try await awaitRunning(0)
    } else if running.contains(where: { $0.tokens[token].map { $0 != user } ?? false }) {
      try await awaitRunning(0)
    }
    try pending.append(DeviceRegistration(row, app: app))
  }

  /// Sends a batch if enough rows are pending.
  ///
  /// - Parameter position: the position after the last added row; `nil` if the import can't be resumed there.
  mutating func sendBatchIfFull(at position: Position?) async throws {
    if pending.count >= size { try await flush(at: position) }
  }

  /// Sends the remaining rows and waits until all batches are stored.
  ///
  /// - Parameter position: see ``sendBatchIfFull(at:)``.
  mutating func finish(at position: Position?) async throws {
    try await flush(at: position)
    try await awaitRunning(0)
  }

  private mutating func flush(at position: Position?) async throws {
    guard !pending.isEmpty || position != nil else { return }
    try await awaitRunning(Self.concurrentBatches - 1)
    let batch = pending
    let (store, file, before) = (store, file, totals)
    let bound = Task { [last = self.bound] in
      _ = try await last?.value
      return try await store.registry.bind(batch)
    }
    let entered = Task { [last = self.entered] in
      _ = try await last?.value
      return try await store.registry.enter(bound.value)
    }
    let settled = Task { [last = self.settled] in
      var totals = try await last?.value ?? before
      let outcome = try await store.registry.complete(entered.value)
      for stands in outcome.stands {
        if stands { totals.imported += 1 } else { totals.outdated += 1 }
      }
      totals.evicted += outcome.evicted
      if let file, let position { try await store.registry.save(ImportCheckpoint(position, totals), of: file) }
      return totals
    }
    (self.bound, self.entered, self.settled) = (bound, entered, settled)
    running.append(Running(settled: settled, tokens: tokens))
    pending = store.registry.registrationBatch()
    pending.reserve(size)
    tokens = Dictionary(minimumCapacity: size)
  }

  /// Waits until at most `count` batches are in flight.
  private mutating func awaitRunning(_ count: Int) async throws {
    while running.count > count {
      do {
        totals = try await running.removeFirst().settled.value
      } catch {
        // The later batches fail too. Wait until they have ended, so that nothing runs in the background when the error
        // is reported.
        for batch in running { _ = await batch.settled.result }
        running = []
        throw error
      }
    }
  }
}

extension ImportCheckpoint {
  fileprivate init(_ position: DeviceImport.Position, _ totals: DeviceImport.Totals) {
    self.init(
      offset: position.mark.offset, line: position.mark.line, rows: position.rows, skipped: position.skipped,
      imported: totals.imported, outdated: totals.outdated, evicted: totals.evicted,
      withoutZone: position.withoutZone)
  }
}
