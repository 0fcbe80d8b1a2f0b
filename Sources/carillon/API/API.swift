import Admin
import CampaignStore
import CommandSupport
import HTTPServer
import PushCore
import ServiceTools

/// The HTTP API, version 1. Each operation uses the same code in `Operations` as the corresponding command.
struct API: Sendable {
  let configuration: CarillonConfiguration
  let apps: JobApps
  let stores: APIStore
  let pools: APIPools
  /// Maximum size of a request body with a list, in bytes.
  static let listLimit = 4 << 20
  /// Maximum size of a request body with a few fields, in bytes.
  static let smallLimit = 64 << 10

  init(_ configuration: CarillonConfiguration, _ stores: APIStore, _ pools: APIPools) {
    self.configuration = configuration
    self.stores = stores
    self.pools = pools
    apps = configuration.jobApps()
  }

  /// All operations.
  var operations: [APIOperation] {
    campaigns + approval + composing + devices + segments + quarantine + dead + fleet + own
  }

  /// The operations that describe the API and the caller's token.
  private var own: [APIOperation] {
    let itself = [
      APIOperation(
        name: "whoAmI", method: "GET", path: "/me", scope: .view,
        summary: "Get the name and the scopes of the request's token",
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
        name: "jobSchema", method: "GET", path: "/job.schema.json", scope: nil, summary: "Get the JSON Schema of a job",
        answers: [
          .init(
            status: 200, meaning: "JSON Schema 2020-12", schema: #"{"type":"object"}"#, type: "application/schema+json")
        ]
      ) { _ in .init(200, JobSchema.document(KnownServices.all.tools.map(\.service)), type: "application/schema+json")
      },
    ]
    return itself + [
      APIOperation(
        name: "openAPI", method: "GET", path: "/openapi.json", scope: nil, summary: "Get this document",
        answers: [.init(status: 200, meaning: "OpenAPI 3.1", schema: #"{"type":"object"}"#)]
      ) { [self] _ in .json(OpenAPI.document(operations)) }
    ]
  }

  /// Runs a long computation for a request in a pool.
  func compute<Value: Sendable>(
    in pool: KeyPath<APIPools, ComputePool> = \.jobs, for call: RouteCall,
    _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    try await pools[keyPath: pool].run(for: call.holder?.name ?? "anonymous", body)
  }

  /// Returns the sender of a request, for the audit log.
  static func actor(_ call: RouteCall) -> Actor { Actor(name: call.holder?.name ?? "anonymous") }
}
