/// Who the primary is, which sentinel is asked next, and when. Pure: events in, actions out.
///
///     resting ── wanted, doubted, timer ──▶ asking ── answered ──▶ resting: found, wait
///                                             │ ▲
///                          failed, unknown    ▼ │ while there is another
///                                            next ── all were asked ──▶ resting: not found, wait
///
/// Any sentinel may be wrong: one that was cut off from the others tells of the primary before. So whoever could not use
/// what was found says so, and the next one is asked.
struct PrimarySearch {
  enum Event: Equatable {
    /// Somebody needs to know.
    case wanted
    /// Somebody found no primary there, or can't reach it.
    case doubted(RedisAddress)
    /// The sentinel that was asked has answered; `nil`: it knows nobody of that name.
    case answered(RedisAddress?)
    /// The sentinel that was asked can't be reached, or says nothing.
    case failed
    /// The connection to the sentinel that was asked last has ended.
    case lost
    /// A sentinel says by itself that there is another primary.
    case announced(RedisAddress)
    /// The wait is over.
    case timer
  }

  enum Action: Equatable {
    /// Ask a sentinel, then tell `answered` or `failed`.
    case ask(RedisAddress)
    /// Tell whoever waits, and whoever has a connection to another.
    case found(RedisAddress)
    /// Tell whoever waits.
    case notFound
    /// Tell `timer` when the poll interval is over.
    case wait
  }

  /// Whom to ask, the next one first.
  private(set) var sentinels: [RedisAddress]
  /// The primary as last heard of.
  private(set) var primary: RedisAddress?
  /// How many have been asked in vain since the search began; `nil` while it rests.
  private var inVain: Int?

  /// - Parameter sentinels: at least one.
  init(sentinels: [RedisAddress]) {
    self.sentinels = sentinels
  }

  mutating func handle(_ event: Event) -> [Action] {
    switch event {
    case .wanted, .timer:
      return begin()
    case .doubted(let address):
      // Two may doubt the same; only while it is still what the sentinels say is another one asked first.
      if inVain == nil, address == primary { turnToNext() }
      return begin()
    case .answered(let address?):
      guard inVain != nil else { return [] }
      inVain = nil
      primary = address
      return [.found(address), .wait]
    case .answered(nil), .failed:
      guard let count = inVain.map({ $0 + 1 }) else { return [] }
      turnToNext()
      guard count < sentinels.count else {
        inVain = nil
        return [.notFound, .wait]
      }
      inVain = count
      return [.ask(sentinels[0])]
    case .lost:
      // Not asked at once: one that hangs up on everybody would be asked without end.
      if inVain == nil { turnToNext() }
      return []
    case .announced(let address):
      // Whoever asks just now is told what the answer says, which is as new.
      primary = address
      return inVain == nil ? [.found(address)] : []
    }
  }

  private mutating func begin() -> [Action] {
    guard inVain == nil else { return [] }
    inVain = 0
    return [.ask(sentinels[0])]
  }

  private mutating func turnToNext() {
    sentinels.append(sentinels.removeFirst())
  }
}
