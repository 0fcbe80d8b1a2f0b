import PushCore
import Synchronization

/// The parts of a campaign's job that decide for which part and variant a receipt counts.
struct ReceiptRules: Sendable {
  /// The assignment of users to stages; `nil` for a campaign without stages.
  var draw: StageDraw?
  /// For each stage, the parts whose targets may include a user of the stage: one part for each leg, without
  /// companions. Empty for a campaign without parts.
  var legs: [[CampaignPart]]
  /// The variants of the content; `nil` for a campaign without variants.
  var variants: CampaignVariants?

  /// Creates the rules of a campaign.
  ///
  /// - Parameter campaign: the whole campaign; `nil` if it has no parts or its job can't be read.
  init(_ campaign: Campaign?, variants: CampaignVariants?) {
    let stages = campaign?.delivery.stages
    draw = stages?.draw
    legs = campaign.map { whole in (0...(stages?.all.count ?? 0)).map { whole.legs(ofStage: $0) } } ?? []
    self.variants = variants
  }

  /// Returns the parts whose targets may include a user; empty for a campaign without parts.
  func parts(of user: String) -> [CampaignPart] {
    guard !legs.isEmpty else { return [] }
    return legs[draw.map { Array(user.utf8).withUnsafeBytes($0.index) } ?? 0]
  }
}

/// The rules of campaigns that got receipts recently. With this cache, the job of a campaign is read once and not for
/// each page of receipts.
final class ReceiptRuleCache: Sendable {
  /// The rules of one campaign.
  private struct Entry {
    /// The time at which the campaign was created, in ms since the epoch. It distinguishes campaigns that use the same
    /// id one after the other. An erasure changes the job but not this time. The cached rules stay valid, because the
    /// receipts of an erased user don't count.
    var createdAt: Int
    var rules: ReceiptRules
  }

  /// Maximum number of campaigns in the cache. When it is full, all entries are removed. The rules of a campaign are
  /// small, except for the users that its stages list (``PushCore/CampaignStages/maximumUsers``).
  static let most = 64

  private let entries = Mutex<[String: Entry]>([:])

  /// Returns the rules of a campaign; `nil` if they have not been added.
  func rules(of id: String, createdAt: Int) -> ReceiptRules? {
    entries.withLock { $0[id].flatMap { $0.createdAt == createdAt ? $0.rules : nil } }
  }

  func add(_ rules: ReceiptRules, of id: String, createdAt: Int) {
    entries.withLock { entries in
      if entries.count >= Self.most, entries[id] == nil { entries.removeAll() }
      entries[id] = Entry(createdAt: createdAt, rules: rules)
    }
  }
}
