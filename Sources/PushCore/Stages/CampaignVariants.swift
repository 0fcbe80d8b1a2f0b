/// A campaign that says different things to different users, and counts by what they were told.
///
/// Which variant a user gets follows from the campaign's id and the user alone, so all devices of a user get the same, and
/// nobody keeps a list. Where a stage chooses the winner, all later stages get that variant.
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

  /// At least two.
  public let all: [Variant]
  /// Where in what users draw each ends, but the last.
  private let bounds: [Double]
  private let draw: UserDraw

  /// The most variants that a campaign has.
  public static let maximum = 8
  /// All places.
  public static let places = 0..<maximum

  /// - Parameters:
  ///   - all: at least two, at most ``maximum``.
  ///   - id: the campaign's.
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

  /// The place of the variant that a user gets.
  public func place(of user: UnsafeRawBufferPointer) -> Int {
    let share = draw.share(user)
    return bounds.firstIndex { share < $0 } ?? all.count - 1
  }

  /// The place of a variant by its name; `nil` when there is none.
  public func place(named name: String) -> Int? { all.firstIndex { $0.name == name } }

  /// The share of the users who get a variant, by the weights.
  public func share(of place: Int) -> Double { all[place].weight / all.reduce(0) { $0 + $1.weight } }

  // MARK: Judging

  /// Which variant the later stages get.
  public enum Verdict: Sendable, Equatable {
    /// The variant of this place.
    case winner(Int)
    /// A person has to say so.
    case unclear(String)
  }

  /// Chooses the variant that the later stages get: that with the largest share of what is counted; of equals the first in
  /// the job.
  ///
  /// - Parameters:
  ///   - winner: how it is chosen.
  ///   - counted: by variant, what it is judged by.
  ///   - reached: by variant, of how many.
  ///   - isOverruled: whether a person wants the best so far, however little was counted.
  func verdict(
    _ winner: CampaignStages.Winner, counted: [Int], of reached: [Int], isOverruled: Bool = false
  ) -> Verdict {
    let sum = counted.reduce(0, +)
    guard sum >= winner.minimum || isOverruled else {
      if let otherwise = winner.otherwise { return .winner(otherwise) }
      return .unclear(
        "no winner: \(sum) \(winner.measure.rawValue) in all, and it takes \(winner.minimum) to tell which is best")
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
  /// In a sentence, such as `a 50 %, b 50 %`.
  public var description: String {
    all.indices.map { "\(all[$0].name) \(StageGate.percent(share(of: $0)))" }.joined(separator: ", ")
  }
}
