/// A campaign that says different things to different users, and counts by what they were told.
///
/// Which variant a user gets follows from the campaign's id and the user alone, so all devices of a user get the same, and
/// nobody keeps a list. Where the best is to be found first, a share of the users gets the variants, and the others wait.
public struct CampaignVariants: Sendable, Equatable {
  /// One of them.
  public struct Variant: Sendable, Equatable {
    /// Allowed by `PlainName`.
    public let name: String
    /// How many users get it, beside the weights of the others: above 0.
    public let weight: Double

    /// Memberwise.
    public init(name: String, weight: Double = 1) {
      self.name = name
      self.weight = weight
    }
  }

  /// What a variant is judged by. Raw values are names in a job.
  public enum Measure: String, CaseIterable, Sendable {
    /// The app's word that a user opened it, of those pushes that were accepted.
    case opened
    /// The app's word that it arrived, of those pushes that were accepted.
    case delivered
    /// Pushes that the service took, of those that it answered.
    case accepted

    /// The receipts that are counted; `nil` where it is outcomes.
    public var receipt: ReceiptEvent.Kind? {
      switch self {
      case .opened: .opened
      case .delivered: .delivered
      case .accepted: nil
      }
    }
  }

  /// How the best is found.
  public struct Winner: Sendable, Equatable {
    public var measure: Measure
    /// Seconds from the beginning of the campaign.
    public var wait: Int
    /// The share of the users who get the variants: above 0, below 1.
    public var share: Double
    /// What is counted (users who opened it, say) that there must be of all variants together, or it is chance that decides.
    public var minimum: Int
    /// The variant that the others get where there is less, by its place; `nil` to ask a person.
    public var otherwise: Int?

    /// ``minimum`` where a job does not say so.
    public static let standardMinimum = 20

    /// Memberwise.
    public init(
      measure: Measure = .opened, wait: Int, share: Double, minimum: Int = standardMinimum, otherwise: Int? = nil
    ) {
      self.measure = measure
      self.wait = wait
      self.share = share
      self.minimum = minimum
      self.otherwise = otherwise
    }
  }

  /// At least two.
  public let all: [Variant]
  /// `nil` when all users get the variants.
  public let winner: Winner?
  /// Where in what users draw each ends, but the last.
  private let bounds: [Double]
  private let draw: UserDraw
  private let tested: UserSample?

  /// The most variants that a campaign has: beside them the ledger has room for those who wait.
  public static let maximum = 8
  /// The place, behind those of all variants that there can be, of whoever gets the best when that is known.
  public static let rest = maximum
  /// All places.
  public static let places = 0...rest

  /// - Parameters:
  ///   - all: at least two, at most ``maximum``.
  ///   - winner: `nil` when all users get the variants.
  ///   - id: the campaign's.
  public init(_ all: [Variant], winner: Winner? = nil, campaign id: String) {
    self.all = all
    self.winner = winner
    let total = all.reduce(0) { $0 + $1.weight }
    var sum = 0.0
    bounds = all.dropLast().map { variant in
      sum += variant.weight
      return sum / total
    }
    draw = UserDraw(salt: "variant of campaign " + id)
    tested = winner.map { UserSample(share: $0.share, salt: Self.salt(ofTest: id)) }
  }

  /// What makes the draw of those who get the variants another than others.
  static func salt(ofTest id: String) -> String { "variants tested by campaign " + id }

  /// The place of the variant that a user gets; ``rest`` for who gets the best when that is known.
  public func place(of user: UnsafeRawBufferPointer) -> Int {
    if let tested, !tested.has(user) { return Self.rest }
    let share = draw.share(user)
    return bounds.firstIndex { share < $0 } ?? all.count - 1
  }

  /// The place of a variant by its name; `nil` when there is none.
  public func place(named name: String) -> Int? { all.firstIndex { $0.name == name } }

  /// What a place is called: a variant's name, and for those who wait that of the winner; `nil` before it is known.
  public func name(of place: Int, winner: Int?) -> String? {
    let place = place == Self.rest ? winner ?? -1 : place
    return all.indices.contains(place) ? all[place].name : nil
  }

  /// The share of the users of the test whose it is, by the weights.
  public func share(of place: Int) -> Double { all[place].weight / all.reduce(0) { $0 + $1.weight } }

  // MARK: Judging

  /// What follows for those who wait.
  public enum Verdict: Sendable, Equatable {
    /// They get this variant, by its place.
    case winner(Int)
    /// A person has to say so.
    case unclear(String)
  }

  /// Which variant those get who wait: that with the largest share of what is counted; of equals the first in the job.
  ///
  /// Where less was counted of all together than the job asks for, it is the variant that the job names for that, and
  /// without one nobody's until a person says so.
  ///
  /// - Parameters:
  ///   - counted: by variant, what it is judged by.
  ///   - reached: by variant, of how many.
  ///   - isResumed: whether a person has set the campaign going again who knows that it was unclear: then it is the best so
  ///     far.
  public func verdict(counted: [Int], of reached: [Int], isResumed: Bool = false) -> Verdict {
    guard let winner else { return .winner(0) }
    let sum = counted.reduce(0, +)
    guard sum >= winner.minimum || isResumed else {
      if let otherwise = winner.otherwise { return .winner(otherwise) }
      return .unclear(
        "variants: \(sum) \(winner.measure.rawValue) in all, and it takes \(winner.minimum) to tell which is best; "
          + "`carillon campaign decide` names one for the rest, resume sends the best so far")
    }
    var best: Int?
    for place in all.indices where reached[place] > 0 {
      guard let known = best else {
        best = place
        continue
      }
      // Whole numbers, so that equal shares are equal.
      if counted[place] * reached[known] > counted[known] * reached[place] { best = place }
    }
    return .winner(best ?? winner.otherwise ?? 0)
  }
}

extension CampaignVariants: CustomStringConvertible {
  /// In a sentence, such as `a 50 %, b 50 % of a test of 20 % of the users; the others get what is best by opened
  /// after 2h`.
  public var description: String {
    let shares = all.indices.map { "\(all[$0].name) \(Self.percent(share(of: $0)))" }.joined(separator: ", ")
    guard let winner else { return shares }
    return "\(shares) of a test of \(Self.percent(winner.share)) of the users; the others get what is best by "
      + "\(winner.measure.rawValue) after \(DurationText.format(milliseconds: winner.wait * 1000))"
  }

  private static func percent(_ share: Double) -> String {
    let tenths = Int((share * 1000).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10) %" : "\(tenths / 10).\(tenths % 10) %"
  }
}
