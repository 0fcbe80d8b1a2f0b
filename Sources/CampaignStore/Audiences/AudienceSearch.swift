import PushCore

/// Finds the users of a partition who match an ``AudienceTerm``. The search reads some sets of the term page by page,
/// and checks the members of each page against the other sets. It makes no temporary sets in Redis. Its cost is known
/// in advance: the pages of the sets that it reads, and one command for each page and other set. Pure: this type
/// chooses the sets and evaluates the term, and ``MemberWalk`` reads from Redis.
struct AudienceSearch: Sendable {
  let root: AudienceTerm
  /// Two forms of the term, to count the users who are left out: `selected` without exclusions and suppression lists,
  /// `admitted` with the exclusions only. `nil` if the term has no exclusions and no suppression lists.
  private let wider: (selected: AudienceTerm, admitted: AudienceTerm)?
  /// All sets that the term depends on. Each set is listed once, even if the term names it several times.
  let sets: [AudienceSet]
  /// Sets that are often empty. Their sizes are read first, and an empty set is then left out of the search.
  private let optional: Set<AudienceSet>
  /// Sets that together contain every user who can match the term; `nil` if the choice depends on the sizes of sets.
  let fixedCover: [AudienceSet]?

  /// Creates the search for a term.
  ///
  /// - Parameters:
  ///   - root: the term.
  ///   - optional: sets of the term that are often empty.
  ///   - wider: two forms of the term: `selected` without exclusions and suppression lists, `admitted` with the
  ///     exclusions only.
  init(
    _ root: AudienceTerm, optional: [AudienceSet] = [],
    wider: (selected: AudienceTerm, admitted: AudienceTerm)? = nil
  ) {
    self.root = root
    self.wider = wider
    self.optional = Set(optional)
    var sets: Set<AudienceSet> = []
    root.collectSets(into: &sets)
    self.sets = sets.sorted { $0.order < $1.order }
    fixedCover =
      root.needsSizes || !self.optional.isDisjoint(with: sets)
      ? nil : root.cover { _ in 0 }.sets.sorted { $0.order < $1.order }
  }

  /// Creates the search for an expression.
  ///
  /// - Parameters:
  ///   - definitions: the segments in the expression that are rules.
  ///   - start: time from which ages in the rules are counted, in ms since the epoch.
  init(_ expression: AudienceExpression, _ definitions: SegmentDefinitions = SegmentDefinitions(), start: Int = 0) {
    self.init(AudienceTerm(expression, definitions, start: start))
  }

  /// Creates the search for the audience of a campaign.
  ///
  /// - Parameter start: when the campaign began, in ms since the epoch.
  /// - Returns: `nil` if the campaign is not sent to users.
  init?(_ campaign: Campaign, start: Int) {
    guard let selected = AudienceTerm(selectionOf: campaign, start: start) else { return nil }
    let admitted = selected.admitted(by: campaign, start: start)
    let term = admitted.withoutSuppressed(of: campaign)
    let isWider = !campaign.recipients.exclusion.isEmpty || !campaign.suppressed.isEmpty
    self.init(term, optional: campaign.suppressed, wider: isWider ? (selected, admitted) : nil)
  }

  /// Returns the search without the empty optional sets; `nil` if no user can match because these sets are empty.
  ///
  /// - Parameter sizes: the sizes of ``sets``, in their order.
  func withoutEmpty(_ sizes: [Int]) -> AudienceSearch? {
    let empty = optional.intersection(zip(sets, sizes).filter { $1 == 0 }.map(\.0))
    guard !empty.isEmpty else { return self }
    // Remove the empty sets from these two forms too, because the job's own selection may name one of them.
    let wider = wider.flatMap { wider in
      wider.selected.without(empty: empty.contains).flatMap { selected in
        wider.admitted.without(empty: empty.contains).map { (selected, $0) }
      }
    }
    return root.without(empty: empty.contains).map { AudienceSearch($0, wider: wider) }
  }

  /// Returns the sets to read: together they contain every user who can match the term, with as few members as
  /// possible.
  ///
  /// - Parameter sizes: the sizes by set.
  func cover(_ sizes: [AudienceSet: Int]) -> [AudienceSet] {
    root.cover { sizes[$0] ?? 0 }.sets.filter { sizes[$0] ?? 0 > 0 }.sorted { $0.order < $1.order }
  }

  /// Returns the number of members that are read to find every user who can match the term.
  ///
  /// - Parameter sizes: the sizes of ``sets``, in their order.
  func size(_ sizes: [Int]) -> Int {
    let known = Dictionary(zip(sets, sizes), uniquingKeysWith: { first, _ in first })
    return root.cover { known[$0] ?? 0 }.size
  }

  /// Returns the other sets of the term, against which the members of the set `source` are checked.
  func asked(of source: AudienceSet) -> [AudienceSet] { sets.filter { $0 != source } }

  /// Returns whether each member of a page matches the term.
  ///
  /// - Parameter columns: for each checked set, which members of the page this set contains.
  func matches(_ columns: [AudienceSet: [Bool]], source: AudienceSet, count: Int) -> [Bool] {
    root.matches { $0 == source ? Array(repeating: true, count: count) : columns[$0] ?? [] }
  }

  /// Whether exclusions or suppression lists may leave users out.
  var leavesOut: Bool { wider != nil }

  /// Returns which users of a page the audience selects, and which of them are not excluded. Both results ignore
  /// suppression lists.
  func leftOut(
    _ columns: [AudienceSet: [Bool]], source: AudienceSet, count: Int
  ) -> (selected: [Bool], admitted: [Bool]) {
    let column = { (set: AudienceSet) in
      set == source ? Array(repeating: true, count: count) : columns[set] ?? Array(repeating: false, count: count)
    }
    guard let wider else { return ([], []) }
    return (wider.selected.matches(column), wider.admitted.matches(column))
  }
}

extension AudienceSet {
  /// A key for a stable order of sets. The users come last, because they are the largest set.
  fileprivate var order: String {
    switch self {
    case .segment(let name): "0" + name
    case .listed: "1"
    case .reached(let earlier): "2\(earlier.campaign) \(earlier.outcomes.map(\.rawValue))"
    case .opened(let campaign): "3" + campaign
    case .users: "4"
    case .matching(let condition): "5" + condition.predicate.description
    }
  }
}

extension AudienceTerm {
  fileprivate func collectSets(into sets: inout Set<AudienceSet>) {
    switch self {
    case .set(let set): sets.insert(set)
    case .not(let term):
      sets.insert(.users)
      term.collectSets(into: &sets)
    // An exclusion removes users from the left side, registered or not, so the search does not need the set of all
    // users.
    case .and(let left, .not(let right)), .and(let left, let right), .or(let left, let right):
      left.collectSets(into: &sets)
      right.collectSets(into: &sets)
    }
  }

  /// Whether the term has an `&` in which neither side is the set of all users. The search then reads the smaller side.
  fileprivate var needsSizes: Bool {
    switch self {
    case .set, .not: false
    case .and(let left, .not): left.needsSizes
    case .and(let left, let right): left.needsSizes || right.needsSizes || !left.isOfUsers && !right.isOfUsers
    case .or(let left, let right): left.needsSizes || right.needsSizes
    }
  }

  /// Whether the term can only be evaluated by reading all users.
  private var isOfUsers: Bool {
    switch self {
    case .set(.users), .set(.matching), .not: true
    case .set: false
    case .and(let left, .not): left.isOfUsers
    case .and(let left, let right): left.isOfUsers && right.isOfUsers
    case .or(let left, let right): left.isOfUsers || right.isOfUsers
    }
  }

  /// Returns sets that together contain every user who can match, and their number of members.
  fileprivate func cover(_ size: (AudienceSet) -> Int) -> (sets: Set<AudienceSet>, size: Int) {
    switch self {
    case .set(.matching), .not: return ([.users], size(.users))
    case .set(let set): return ([set], size(set))
    case .and(let left, .not): return left.cover(size)
    case .and(let left, let right):
      if left.isOfUsers != right.isOfUsers { return left.isOfUsers ? right.cover(size) : left.cover(size) }
      let (first, second) = (left.cover(size), right.cover(size))
      return second.size < first.size ? second : first
    case .or(let left, let right):
      let sets = left.cover(size).sets.union(right.cover(size).sets)
      return (sets, sets.reduce(0) { $0 + size($1) })
    }
  }

  /// Returns whether each member of a page matches.
  /// - Parameter column: returns which members of the page are in a set.
  fileprivate func matches(_ column: (AudienceSet) -> [Bool]) -> [Bool] {
    switch self {
    case .set(let set): column(set)
    case .not(let term): zip(column(.users), term.matches(column)).map { $0 && !$1 }
    case .and(let left, .not(let right)): zip(left.matches(column), right.matches(column)).map { $0 && !$1 }
    case .and(let left, let right): zip(left.matches(column), right.matches(column)).map { $0 && $1 }
    case .or(let left, let right): zip(left.matches(column), right.matches(column)).map { $0 || $1 }
    }
  }
}
