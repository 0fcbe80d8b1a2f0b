import CampaignStore
import CommandSupport
import PushCore

/// Finds attributes that a job uses and that no user has.
struct AttributeWarnings {
  let store: CampaignStore

  /// Returns a warning for each attribute that a job uses and that no user has.
  ///
  /// - Returns: the warnings; empty if the Redis user has no permission to read attributes. A producer can submit jobs
  ///   without this permission.
  func find(in campaign: Campaign) async throws -> [Finding] {
    let asked = campaign.attributesAskedFor
    let known: KnownAttributes
    do {
      known = try await store.registry.knownAttributes(Set(asked.map(\.name)))
    } catch let error as StoreError where error.code == .forbidden {
      return []
    }
    let whom = known.isComplete ? "no user has" : "none of \(known.examined.grouped) users that were examined has"
    return asked.filter { known.missing.contains($0.name) }.map { path, name in
      Finding(
        .unknownAttribute, path, "\(whom) the attribute \(Excerpt.quoted(name))",
        hint: Nearest.match(name, among: known.names).map { "did you mean \(Excerpt.quoted($0))?" }
          ?? "check the name, or import the users' attributes first")
    }
  }
}
