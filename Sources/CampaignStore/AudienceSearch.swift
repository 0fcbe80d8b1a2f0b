import PushCore

/// A set of a partition that an audience expression is evaluated from.
enum AudienceSet: Hashable, Sendable {
  /// The registered users.
  case users
  /// The users of a segment.
  case segment(String)
}

/// How those are found for whom an expression holds: some sets are read, a page at a time, and of a page's members it is
/// asked which other sets have them. Nothing is copied, and what it costs is known before: a page for so many members of
/// the sets that are read, and of each page a question for each other set. Pure.
struct AudienceSearch: Sendable {
  let root: AudienceExpression.Node
  /// Every set that the expression depends on, each once, however often it is named.
  let sets: [AudienceSet]
  /// Sets one of which has whoever the expression can mean, where that does not depend on how large they are.
  let fixedCover: [AudienceSet]?

  init(_ expression: AudienceExpression) {
    root = expression.root
    var sets: Set<AudienceSet> = []
    root.collectSets(into: &sets)
    self.sets = sets.sorted { $0.order < $1.order }
    fixedCover = root.needsSizes ? nil : root.cover { _ in 0 }.sets.sorted { $0.order < $1.order }
  }

  /// Sets one of which has whoever the expression can mean: with as few members as can be.
  ///
  /// - Parameter sizes: of ``sets``, in their order.
  func cover(_ sizes: [Int]) -> [AudienceSet] {
    let known = Dictionary(zip(sets, sizes), uniquingKeysWith: { first, _ in first })
    return root.cover { known[$0] ?? 0 }.sets.filter { known[$0] ?? 0 > 0 }.sorted { $0.order < $1.order }
  }

  /// How many members are read to find whoever the expression can mean.
  ///
  /// - Parameter sizes: of ``sets``, in their order.
  func size(_ sizes: [Int]) -> Int {
    let known = Dictionary(zip(sets, sizes), uniquingKeysWith: { first, _ in first })
    return root.cover { known[$0] ?? 0 }.size
  }

  /// What is to be asked of the members of a set that is read.
  func asked(of source: AudienceSet) -> [AudienceSet] { sets.filter { $0 != source } }

  /// For whom of a page the expression holds.
  ///
  /// - Parameter columns: for each set that is asked, who of the page is in it.
  func holds(_ columns: [AudienceSet: [Bool]], source: AudienceSet, count: Int) -> [Bool] {
    root.holds { $0 == source ? Array(repeating: true, count: count) : columns[$0] ?? [] }
  }
}

extension AudienceSet {
  /// An order that is the same each time: the users come last, as they are the most.
  fileprivate var order: String {
    switch self {
    case .segment(let name): "0" + name
    case .users: "1"
    }
  }
}

extension AudienceExpression.Node {
  fileprivate func collectSets(into sets: inout Set<AudienceSet>) {
    switch self {
    case .segment(let name): sets.insert(.segment(name))
    case .everybody: sets.insert(.users)
    case .not(let node):
      sets.insert(.users)
      node.collectSets(into: &sets)
    // Taken from the left side, be they registered or not.
    case .and(let left, .not(let right)), .and(let left, let right), .or(let left, let right):
      left.collectSets(into: &sets)
      right.collectSets(into: &sets)
    }
  }

  /// Whether both sides of an `&` somewhere are segments, of which the smaller one is to be read.
  fileprivate var needsSizes: Bool {
    switch self {
    case .segment, .everybody, .not: false
    case .and(let left, .not): left.needsSizes
    case .and(let left, let right): left.needsSizes || right.needsSizes || !left.isOfUsers && !right.isOfUsers
    case .or(let left, let right): left.needsSizes || right.needsSizes
    }
  }

  /// Whether only a look at all users finds whoever is meant.
  private var isOfUsers: Bool {
    switch self {
    case .segment: false
    case .everybody, .not: true
    case .and(let left, .not): left.isOfUsers
    case .and(let left, let right): left.isOfUsers && right.isOfUsers
    case .or(let left, let right): left.isOfUsers || right.isOfUsers
    }
  }

  /// Sets one of which has whoever can be meant, and how many members they have.
  fileprivate func cover(_ size: (AudienceSet) -> Int) -> (sets: Set<AudienceSet>, size: Int) {
    switch self {
    case .segment(let name): return ([.segment(name)], size(.segment(name)))
    case .everybody, .not: return ([.users], size(.users))
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
    case .segment(let name): column(.segment(name))
    case .everybody: column(.users)
    case .not(let node): zip(column(.users), node.holds(column)).map { $0 && !$1 }
    case .and(let left, .not(let right)): zip(left.holds(column), right.holds(column)).map { $0 && !$1 }
    case .and(let left, let right): zip(left.holds(column), right.holds(column)).map { $0 && $1 }
    case .or(let left, let right): zip(left.holds(column), right.holds(column)).map { $0 || $1 }
    }
  }
}
