/// Variants of a campaign: different messages for different users, with separate counts.
///
/// The variant of a user depends only on the campaign's id and the user. So all devices of a user get the same variant,
/// without a stored assignment. If a winner is chosen after a stage, all later stages get the winning variant.
public struct CampaignVariants: Sendable, Equatable {
  /// One variant.
  public struct Variant: Sendable, Equatable {
    /// Name, a valid `PlainName`.
    public let name: String
    /// Weight of the variant relative to the weights of the others: above 0.
    public let weight: Double

    /// Creates an instance with these values.
    public init(name: String, weight: Double = 1) {
      self.name = name
      self.weight = weight
    }
  }

  /// Measure for the comparison of variants. Raw values are names in a job.
  public enum Measure: String, CaseIterable, Sendable {
    /// Share of the accepted pushes that users opened, according to the app's receipts.
    case opened
    /// Share of the accepted pushes that were delivered, according to the app's receipts.
    case delivered
    /// Share of the answered pushes that the service accepted.
    case accepted

    /// Kind of the receipts that are counted; `nil` if outcomes are counted.
    public var receipt: ReceiptEvent.Kind? {
      switch self {
      case .opened: .opened
      case .delivered: .delivered
      case .accepted: nil
      }
    }
  }

  /// Variants; at least two.
  public let all: [Variant]
  /// A user has a random number from 0 to 1 (``UserDraw``), and each variant has a range of these numbers. These are
  /// the upper bounds of the ranges, without the bound of the last variant.
  private let bounds: [Double]
  private let draw: UserDraw

  /// Maximum number of variants of a campaign.
  public static let maximum = 8
  /// All possible positions of a variant.
  public static let places = 0..<maximum

  /// - Parameters:
  ///   - all: at least two, at most ``maximum``.
  ///   - id: the id of the campaign.
  public init(_ all: [Variant], campaign id: String) {
    self.all = all
    let total = all.reduce(0) { $0 + $1.weight }
    var sum = 0.0
    bounds = all.dropLast().map { variant in
      sum += variant.weight
      return sum / total
    }
    draw = UserDraw(salt: "variant of campaign " + id)
  }

  /// Returns the position of a user's variant.
  public func index(of user: UnsafeRawBufferPointer) -> Int {
    let share = draw.share(user)
    return bounds.firstIndex { share < $0 } ?? all.count - 1
  }

  /// Returns the position of the variant with a name; `nil` if there is none.
  public func index(named name: String) -> Int? { all.firstIndex { $0.name == name } }

  /// Returns the share of the users who get a variant, according to the weights.
  public func share(of place: Int) -> Double { all[place].weight / all.reduce(0) { $0 + $1.weight } }

  // MARK: Choosing the winner

  /// Result of the choice of the winner.
  public enum Verdict: Sendable, Equatable {
    /// The variant at this position wins.
    case winner(Int)
    /// An operator must choose; the text has the reason.
    case unclear(String)
  }

  /// Chooses the winner: the variant with the largest measured share. If shares are equal, the first variant in the job
  /// wins.
  ///
  /// - Parameters:
  ///   - winner: the rules for the choice.
  ///   - counted: the number of measured events of each variant, for example of opens.
  ///   - reached: the number of pushes of each variant. The share of a variant is its events divided by its pushes.
  ///   - isOverridden: whether an operator wants the best variant so far, regardless of the minimum.
  func verdict(
    _ winner: CampaignStages.Winner, counted: [Int], of reached: [Int], isOverridden: Bool = false
  ) -> Verdict {
    let sum = counted.reduce(0, +)
    guard sum >= winner.minimum || isOverridden else {
      if let otherwise = winner.otherwise { return .winner(otherwise) }
      return .unclear(
        "no winner: \(sum) \(winner.measure.rawValue) in total, \(winner.minimum) needed to choose a winner")
    }
    var best: Int?
    for place in all.indices where reached[place] > 0 {
      guard let known = best else {
        best = place
        continue
      }
      // The comparison multiplies whole numbers and does not divide, so that rounding can't make equal shares differ.
      if counted[place] * reached[known] > counted[known] * reached[place] { best = place }
    }
    return .winner(best ?? winner.otherwise ?? 0)
  }
}

extension CampaignVariants: CustomStringConvertible {
  /// Text for people, such as `a 50 %, b 50 %`.
  public var description: String {
    all.indices.map { "\(all[$0].name) \(StageGate.percent(share(of: $0)))" }.joined(separator: ", ")
  }
}
