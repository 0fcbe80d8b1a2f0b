import APNs
import FCM
import Foundation
import PushCore
import TestKit
import TestSupport
import Testing

/// The tables of job fields in `deploy/guide/jobs.md`.
struct JobTableTests {
  private static let rows = (try? GuidePage("deploy/guide/jobs.md"))?.rows.filter { $0.count == 6 } ?? []

  /// Nested fields are named by their path: `audience.where`.
  @Test func tablesListEveryFieldOfTheSchemaAndNoOther() throws {
    let schema =
      try JSONSerialization.jsonObject(with: Data(JobSchema.document([APNsService(), FCMService()]).utf8))
      as? [String: Any]
    let known = names(in: try #require(schema), below: "")
    let named = Self.rows.map { $0[0] }
    expect(Set(named).count, is: named.count, "a field is listed twice: \(named)")
    expect(known.subtracting(named), is: [], "not in the tables")
    expect(Set(named).subtracting(known), is: [], "only in the tables")
    expect(Set(CampaignJob.fields).subtracting(named), is: [])
  }

  @Test func everyFieldHasAnExampleThatIsAccepted() throws {
    for row in Self.rows {
      let example = row[5].trimmingCharacters(in: ["`"])
      let outermost = row[0].split(separator: ".").last.map(String.init) ?? row[0]
      expect(example.contains(#""\#(outermost)":"#), "\(row[0]): the example does not have the field")
      do {
        let findings = try GuideReader.findings(inJob: GuideReader.job(with: example))
        expect(findings.isEmpty, "\(row[0]): \(findings.map(\.message))")
      } catch {
        Issue.record("\(row[0]): \(error)")
      }
    }
    expect(Self.rows.count > 70)
  }

  /// The paths of all fields below a schema. Payloads and objects of services in variants are documented once.
  private func names(in schema: [String: Any], below path: String) -> Set<String> {
    var names: Set<String> = []
    for (name, schema) in fields(of: schema) {
      names.insert(path + name)
      guard
        !["apns.payload", "fcm.message", "variants.apns", "variants.fcm", "variants.message"].contains(path + name),
        let schema = schema as? [String: Any]
      else { continue }
      names.formUnion(self.names(in: schema, below: path + name + "."))
    }
    return names
  }

  /// The members of an object, or of the objects of a list. `erased` only replaces an erased user or token.
  private func fields(of schema: [String: Any]) -> [String: Any] {
    var found = schema["properties"] as? [String: Any] ?? [:]
    for branch in schema["anyOf"] as? [[String: Any]] ?? [] { found.merge(fields(of: branch)) { first, _ in first } }
    if let items = schema["items"] as? [String: Any] { found.merge(fields(of: items)) { first, _ in first } }
    found["erased"] = nil
    return found
  }
}
