import Admin
import CampaignStore
import CommandSupport
import HTTPServer
import PushCore

/// The API, version 1: what the commands do, by HTTP. Each operation does it by the same services as its command.
struct API: Sendable {
  let configuration: CarillonConfiguration
  let apps: JobApps
  let stores: APIStore
  let pools: APIPools
  /// What many things at once may take of a body.
  static let listLimit = 4 << 20
  /// Of a body with a few words.
  static let smallLimit = 64 << 10

  init(_ configuration: CarillonConfiguration, _ stores: APIStore, _ pools: APIPools) {
    self.configuration = configuration
    self.stores = stores
    self.pools = pools
    apps = configuration.jobApps()
  }

  /// Everything that can be asked for.
  var operations: [APIOperation] {
    campaigns + approval + composing + devices + segments + quarantine + dead + fleet + own
  }

  /// What it says of itself.
  private var own: [APIOperation] {
    let itself = [
      APIOperation(
        name: "whoAmI", method: "GET", path: "/me", scope: .view, summary: "Whose token it is, and what it is good for",
        answers: [.init(status: 200, meaning: "The token", schema: OpenAPI.ref("Holder"))]
      ) { call in
        .object { json in
          json.member("name", call.holder?.name)
          json.array("scopes", Scope.allCases.filter { call.holder?.scopes.contains($0) ?? false }) {
            $0.value($1.rawValue)
          }
        }
      },
      APIOperation(
        name: "jobSchema", method: "GET", path: "/job.schema.json", scope: nil, summary: "The JSON Schema of a job",
        answers: [
          .init(
            status: 200, meaning: "JSON Schema 2020-12", schema: #"{"type":"object"}"#, type: "application/schema+json")
        ]
      ) { _ in .init(200, JobSchema.document, type: "application/schema+json") },
    ]
    return itself + [
      APIOperation(
        name: "openAPI", method: "GET", path: "/openapi.json", scope: nil, summary: "This document",
        answers: [.init(status: 200, meaning: "OpenAPI 3.1", schema: #"{"type":"object"}"#)]
      ) { [self] _ in .json(OpenAPI.document(operations)) }
    ]
  }

  /// Computes something for a request in a pool.
  func compute<Value: Sendable>(
    in pool: KeyPath<APIPools, ComputePool> = \.jobs, for call: RouteCall,
    _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    try await pools[keyPath: pool].run(for: call.holder?.name ?? "nobody", body)
  }

  /// The one who asks, for the audit log.
  static func actor(_ call: RouteCall) -> Actor { Actor(name: call.holder?.name ?? "nobody") }
}
