import CampaignStore
import PushCore

/// Brings the rows of a file into the store, in batches of which three are under way at once, one in each step of a
/// registration (``Registry/bind(_:)``, `enter`, `settle`), while the next is being read.
///
/// Each step is done in the order of the file, so that who has a token is decided by that order. A move must have ended
/// before the next one of the same token begins: where a row gives a token to another user than a row that is under way,
/// it waits.
struct DeviceImport {
  /// Where a file's next row stands, and what was before it.
  struct Position {
    var mark: DeviceRowReader.Mark
    var rows: Int
    var skipped: Int
    var withoutZone: Int
  }

  /// What became of the rows that are in.
  struct Totals {
    var imported = 0
    var outdated = 0
    var crowdedOut = 0
  }

  private struct Running {
    var settled: Task<Totals, any Error>
    var tokens: [Int: Int]
  }

  /// Rows of a batch for each partition: so many in a call of a script make its own cost small.
  private static let rowsPerPartition = 64
  /// Rows of a batch: some MB on the way to Redis.
  private static let batch = 4096...32_768
  /// Batches under way: one in each step.
  private static let atOnce = 3

  private let store: CampaignStore
  /// For rows that name none; empty for none.
  private let app: String
  /// Under which name the position is kept; `nil` where it is not.
  private let file: String?
  private let size: Int
  private var pending: RegistrationBatch
  /// Hashes of the tokens of ``pending``, and of their users: two that are the same by chance cost a wait.
  private var tokens: [Int: Int] = [:]
  private var running: [Running] = []
  private var bound: Task<Registry.BoundRegistrations, any Error>?
  private var entered: Task<Registry.EnteredRegistrations, any Error>?
  private var settled: Task<Totals, any Error>?
  /// Of batches that have ended.
  private(set) var totals: Totals

  /// - Parameters:
  ///   - store: where to.
  ///   - app: of rows that name none; empty for none.
  ///   - file: under which name the position is kept; `nil` where it is not.
  ///   - totals: of what is in already.
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

  /// Sends a batch if there are rows enough for one.
  ///
  /// - Parameter position: behind the last row that was added; `nil` where the file can't be gone on with there.
  mutating func goOn(at position: Position?) async throws {
    if pending.count >= size { try await flush(at: position) }
  }

  /// Stores what is left, and waits for it.
  ///
  /// - Parameter position: as with ``goOn(at:)``.
  mutating func finish(at position: Position?) async throws {
    try await flush(at: position)
    try await awaitRunning(0)
  }

  private mutating func flush(at position: Position?) async throws {
    guard !pending.isEmpty || position != nil else { return }
    try await awaitRunning(Self.atOnce - 1)
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
      let outcome = try await store.registry.settle(entered.value)
      for stands in outcome.stands {
        if stands { totals.imported += 1 } else { totals.outdated += 1 }
      }
      totals.crowdedOut += outcome.crowdedOut
      if let file, let position { try await store.registry.keep(ImportCheckpoint(position, totals), of: file) }
      return totals
    }
    (self.bound, self.entered, self.settled) = (bound, entered, settled)
    running.append(Running(settled: settled, tokens: tokens))
    pending = store.registry.registrationBatch()
    pending.reserve(size)
    tokens = Dictionary(minimumCapacity: size)
  }

  /// Waits until at most so many batches are under way.
  private mutating func awaitRunning(_ count: Int) async throws {
    while running.count > count {
      do {
        totals = try await running.removeFirst().settled.value
      } catch {
        // What comes behind it fails with it: nothing goes on in the background when the error is told.
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
      imported: totals.imported, outdated: totals.outdated, crowdedOut: totals.crowdedOut,
      withoutZone: position.withoutZone)
  }
}
