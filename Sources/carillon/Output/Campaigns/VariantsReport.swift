import CampaignStore
import CommandSupport
import PushCore

/// The variants of a campaign with their results and the winner.
struct VariantsReport {
  let variants: CampaignVariants
  /// The rule that chooses the winner; `nil` if no stage chooses a winner.
  let winner: CampaignStages.Winner?
  /// The counts of each variant.
  let counts: [VariantCounts]
  /// The winner for the later stages; `nil` before the decision.
  let decision: VariantDecision?

  /// Writes the variants of a job.
  static func write(_ variants: CampaignVariants, to json: inout JSONWriter) {
    json.beginArray()
    for (place, variant) in variants.all.enumerated() {
      json.beginObject()
      json.member("name", variant.name)
      json.member("weight", variant.weight)
      json.member("share", variants.share(of: place))
      json.endObject()
    }
    json.endArray()
  }

  /// Writes the members `variants` and `winner` of a campaign.
  func write(to json: inout JSONWriter) {
    json.objects("variants", zip(variants.all, counts)) { json, variant in
      json.member("name", variant.0.name)
      json.member("weight", variant.0.weight)
      Self.write(variant.1, to: &json)
    }
    guard let winner else { return }
    json.object("winner") { json in
      json.member("variant", name)
      json.member("by", winner.measure.rawValue)
      json.member("minimum", winner.minimum)
      json.member("otherwise", winner.otherwise.map { variants.all[$0].name })
      json.member("decidedAt", decision.map { Timestamp.format(milliseconds: $0.at) })
      json.member("decidedBy", decision?.person)
    }
  }

  private static func write(_ counts: VariantCounts, to json: inout JSONWriter) {
    json.member("targets", counts.targets)
    json.outcomes(counts.outcomes)
    json.object("receipts") { json in
      for kind in ReceiptEvent.Kind.allCases { json.member(kind.rawValue, counts.receipts[kind] ?? 0) }
    }
  }

  /// The name of the winner; `nil` before the decision.
  private var name: String? {
    decision.flatMap { variants.all.indices.contains($0.winner) ? variants.all[$0.winner].name : nil }
  }

  /// The rows of the text output: one for each variant, and one for the winner.
  var rows: [(String, String)] {
    var rows = variants.all.indices.map { ("variant \(variants.all[$0].name)", Self.text(of: counts[$0])) }
    guard let winner else { return rows }
    if let name, let decision {
      let who = decision.person.map { ", by \($0)" } ?? ", by \(winner.measure.rawValue)"
      rows.append(("winner", name + who + ", " + Timestamp.format(milliseconds: decision.at)))
    } else {
      rows.append(("winner", "by \(winner.measure.rawValue); to choose one earlier: carillon campaign decide"))
    }
    return rows
  }

  private static func text(of counts: VariantCounts) -> String {
    let outcomes = Outcome.allCases.compactMap { outcome in
      counts.outcomes[outcome].map { "\($0.grouped) \(outcome.name)" }
    }
    let accepted = counts.outcomes[.accepted] ?? 0
    let receipts = ReceiptEvent.Kind.allCases.compactMap { kind in
      counts.receipts[kind].map { count in
        let share = accepted > 0 ? " (\((count * 1000 / accepted + 5) / 10) %)" : ""
        return "\(count.grouped) users \(kind.rawValue)\(share)"
      }
    }
    return (["\(counts.targets.grouped) targets"] + outcomes + receipts).joined(separator: ", ")
  }
}
