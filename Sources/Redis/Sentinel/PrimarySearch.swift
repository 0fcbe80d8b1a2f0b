/// State machine that searches for the primary: it decides which sentinel is asked next, and when. Pure: events in,
/// actions out.
///
///     resting ── wanted, suspected, timer ──▶ asking ── answered ──▶ resting: found, wait
///                                               │ ▲
///                            failed, unknown    ▼ │ while there is another
///                                              next ── all were asked ──▶ resting: not found, wait
///
/// Any sentinel may be wrong: a sentinel that was cut off from the others reports the previous primary. If a caller
/// could not use the reported address, it reports this (`suspected`), and the machine asks the next sentinel.
struct PrimarySearch {
  enum Event: Equatable {
    /// A caller needs the primary.
    case wanted
    /// A caller can't reach the server at this address, or the server is not a primary.
    case suspected(RedisAddress)
    /// The sentinel that was asked has answered. The value is `nil` if the sentinel does not know the name.
    case answered(RedisAddress?)
    /// The sentinel that was asked can't be reached, or does not answer.
    case failed
    /// The connection to the sentinel that answered last has ended.
    case lost
    /// A sentinel announced another primary.
    case announced(RedisAddress)
    /// The wait is over.
    case timer
  }

  enum Action: Equatable {
    /// Ask a sentinel, then report `answered` or `failed`.
    case ask(RedisAddress)
    /// Deliver the address to all waiting callers and listeners.
    case found(RedisAddress)
    /// Report the failure to all waiting callers.
    case notFound
    /// Report `timer` after the poll interval.
    case wait
  }

  /// Sentinels; the first is asked next.
  private(set) var sentinels: [RedisAddress]
  /// Address of the primary, as last reported.
  private(set) var primary: RedisAddress?
  /// Number of sentinels that were asked without success in this search; `nil` while no search is running.
  private var failedCount: Int?

  /// - Parameter sentinels: at least one.
  init(sentinels: [RedisAddress]) {
    self.sentinels = sentinels
  }

  mutating func handle(_ event: Event) -> [Action] {
    switch event {
    case .wanted, .timer:
      return begin()
    case .suspected(let address):
      // Two callers may suspect the same address. The search begins with another sentinel only if this address is still
      // the last reported one.
      if failedCount == nil, address == primary { selectNext() }
      return begin()
    case .answered(let address?):
      guard failedCount != nil else { return [] }
      failedCount = nil
      primary = address
      return [.found(address), .wait]
    case .answered(nil), .failed:
      guard let count = failedCount.map({ $0 + 1 }) else { return [] }
      selectNext()
      guard count < sentinels.count else {
        failedCount = nil
        return [.notFound, .wait]
      }
      failedCount = count
      return [.ask(sentinels[0])]
    case .lost:
      // The machine does not ask the next sentinel immediately. If all sentinels always closed their connections, this
      // would be an endless loop.
      if failedCount == nil { selectNext() }
      return []
    case .announced(let address):
      // During a search, only record the address. The waiting callers get the address in the next answer, which is at
      // least as recent.
      primary = address
      return failedCount == nil ? [.found(address)] : []
    }
  }

  private mutating func begin() -> [Action] {
    guard failedCount == nil else { return [] }
    failedCount = 0
    return [.ask(sentinels[0])]
  }

  private mutating func selectNext() {
    sentinels.append(sentinels.removeFirst())
  }
}
