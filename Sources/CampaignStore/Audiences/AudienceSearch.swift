import PushCore

/// How those are found whom a term means: some sets are read, a page at a time, and of a page's members it is
/// asked which other sets have them. Nothing is copied, and what it costs is known before: a page for so many members of
/// the sets that are read, and of each page a question for each other set. Pure.
struct AudienceSearch: Sendable {
  let root: AudienceTerm
  /// The same without exclusions and suppression lists, and with exclusions alone; `nil` where there are neither.
  private let wider: (selected: AudienceTerm, admitted: AudienceTerm)?
  /// Every set that the term depends on, each once, however often it is named.
  let sets: [AudienceSet]
  /// Those of them that are often empty: how large they are is asked first, and of an empty one nothing.
  private let optional: Set<AudienceSet>
  /// Sets one of which has whoever the term can mean, where that does not depend on how large they are.
  let fixedCover: [AudienceSet]?

  /// - Parameters:
  ///   - root: who is meant.
  ///   - optional: sets of it that are often empty.
  ///   - wider: the same without exclusions and suppression lists, and with exclusions alone.
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

  /// - Parameters:
  ///   - definitions: the segments in it that are rules.
  ///   - start: from when ages in these are counted, in ms since the epoch.
  init(_ expression: AudienceExpression, _ definitions: SegmentDefinitions = SegmentDefinitions(), start: Int = 0) {
    self.init(AudienceTerm(expression, definitions, start: start))
  }

  /// - Parameter start: when the campaign began, in ms since the epoch.
  /// - Returns: `nil` when it is not to users.
  init?(_ campaign: Campaign, start: Int) {
    guard let selected = AudienceTerm(selectionOf: campaign, start: start) else { return nil }
    let admitted = selected.admitted(by: campaign, start: start)
    let term = admitted.withoutSuppressed(of: campaign)
    let isWider = !campaign.recipients.exclusion.isEmpty || !campaign.suppressed.isEmpty
    self.init(term, optional: campaign.suppressed, wider: isWider ? (selected, admitted) : nil)
  }

  /// The same without the optional sets that are empty; `nil` when that leaves nobody.
  ///
  /// - Parameter sizes: of ``sets``, in their order.
  func withoutEmpty(_ sizes: [Int]) -> AudienceSearch? {
    let empty = optional.intersection(zip(sets, sizes).filter { $1 == 0 }.map(\.0))
    guard !empty.isEmpty else { return self }
    // A set of the job's own may be empty under the same name. It then selects no user.
    let wider = wider.flatMap { wider in
      wider.selected.without(empty: empty.contains).flatMap { selected in
        wider.admitted.without(empty: empty.contains).map { (selected, $0) }
      }
    }
    return root.without(empty: empty.contains).map { AudienceSearch($0, wider: wider) }
  }

  /// Sets one of which has whoever the term can mean: with as few members as can be.
  ///
  /// - Parameter sizes: by set.
  func cover(_ sizes: [AudienceSet: Int]) -> [AudienceSet] {
    root.cover { sizes[$0] ?? 0 }.sets.filter { sizes[$0] ?? 0 > 0 }.sorted { $0.order < $1.order }
  }

  /// How many members are read to find whoever the term can mean.
  ///
  /// - Parameter sizes: of ``sets``, in their order.
  func size(_ sizes: [Int]) -> Int {
    let known = Dictionary(zip(sets, sizes), uniquingKeysWith: { first, _ in first })
    return root.cover { known[$0] ?? 0 }.size
  }

  /// What is to be asked of the members of a set that is read.
  func asked(of source: AudienceSet) -> [AudienceSet] { sets.filter { $0 != source } }

  /// Who of a page is meant.
  ///
  /// - Parameter columns: for each set that is asked, who of the page is in it.
  func holds(_ columns: [AudienceSet: [Bool]], source: AudienceSet, count: Int) -> [Bool] {
    root.holds { $0 == source ? Array(repeating: true, count: count) : columns[$0] ?? [] }
  }

  /// Whether exclusions or suppression lists may leave users out.
  var leavesOut: Bool { wider != nil }

  /// The users of a page that the audience selects, and those of them that are not excluded. Suppression lists are ignored.
  func leftOut(
    _ columns: [AudienceSet: [Bool]], source: AudienceSet, count: Int
  ) -> (selected: [Bool], admitted: [Bool]) {
    let column = { (set: AudienceSet) in
      set == source ? Array(repeating: true, count: count) : columns[set] ?? Array(repeating: false, count: count)
    }
    guard let wider else { return ([], []) }
    return (wider.selected.holds(column), wider.admitted.holds(column))
  }
}

extension AudienceSet {
  /// An order that is the same each time: the users come last, as they are the most.
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
    // Taken from the left side, be they registered or not.
    case .and(let left, .not(let right)), .and(let left, let right), .or(let left, let right):
      left.collectSets(into: &sets)
      right.collectSets(into: &sets)
    }
  }

  /// Whether both sides of an `&` somewhere are other sets than the users, of which the smaller one is to be read.
  fileprivate var needsSizes: Bool {
    switch self {
    case .set, .not: false
    case .and(let left, .not): left.needsSizes
    case .and(let left, let right): left.needsSizes || right.needsSizes || !left.isOfUsers && !right.isOfUsers
    case .or(let left, let right): left.needsSizes || right.needsSizes
    }
  }

  /// Whether only a look at all users finds whoever is meant.
  private var isOfUsers: Bool {
    switch self {
    case .set(.users), .set(.matching), .not: true
    case .set: false
    case .and(let left, .not): left.isOfUsers
    case .and(let left, let right): left.isOfUsers && right.isOfUsers
    case .or(let left, let right): left.isOfUsers || right.isOfUsers
    }
  }

  /// Sets one of which has whoever can be meant, and how many members they have.
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

  /// - Parameter column: who of a page is in a set.
  fileprivate func holds(_ column: (AudienceSet) -> [Bool]) -> [Bool] {
    switch self {
    case .set(let set): column(set)
    case .not(let term): zip(column(.users), term.holds(column)).map { $0 && !$1 }
    case .and(let left, .not(let right)): zip(left.holds(column), right.holds(column)).map { $0 && !$1 }
    case .and(let left, let right): zip(left.holds(column), right.holds(column)).map { $0 && $1 }
    case .or(let left, let right): zip(left.holds(column), right.holds(column)).map { $0 || $1 }
    }
  }
}
