import Admin
import HTTPServer
import PushCore

/// Something that the API can be asked for: its route, and what a client has to know of it. The OpenAPI document is made of
/// these, so that it can't tell of anything that is not there.
struct APIOperation: Sendable {
  /// A value of the query.
  struct Parameter: Sendable {
    var name: String
    /// JSON Schema.
    var schema: String
    var meaning: String
    var isRequired = false
  }

  /// What a request has.
  struct Body: Sendable {
    /// JSON Schema.
    var schema: String
    /// Bytes at most.
    var limit: Int
    var isRequired = true
  }

  /// What an answer has.
  struct Answer: Sendable {
    var status: Int
    var meaning: String
    /// JSON Schema; `nil` where it is no JSON.
    var schema: String?
    var type = "application/json"
    /// Another type that it may have.
    var otherType: String?
    /// What can be asked for next, for clients that try one thing after the other.
    var links: [Link] = []
  }

  /// An operation that takes something of an answer.
  struct Link: Sendable {
    /// Its name.
    var operation: String
    /// A parameter of it, and the member of the answer that it is.
    var parameter: String
    var member: String

    /// The operations that take one and the same.
    static func to(_ operations: [String], _ parameter: String, _ member: String? = nil) -> [Link] {
      operations.map { Link(operation: $0, parameter: parameter, member: member ?? parameter) }
    }
  }

  /// For clients that are generated: `listCampaigns`.
  var name: String
  var method: String
  /// Below `/api/v1`.
  var path: String
  var scope: Scope?
  var summary: String
  var parameters: [Parameter] = []
  var body: Body?
  var answers: [Answer]
  var run: @Sendable (RouteCall) async throws -> HTTPResponse

  static let root = "/api/v1"

  /// The route that it is.
  var route: Route {
    Route(
      method, Self.root + path, scope, query: .names(parameters.map(\.name)), bodyLimit: body?.limit ?? 0, handle: run)
  }
}

extension HTTPResponse {
  /// JSON.
  static func json(_ json: String, status: Int = 200) -> HTTPResponse {
    HTTPResponse(
      status, headers: [("Content-Type", "application/json"), ("Cache-Control", "no-store")],
      body: .bytes(Array(json.utf8)))
  }

  /// An object that is written by `body`.
  static func object(status: Int = 200, _ body: (inout JSONWriter) throws -> Void) rethrows -> HTTPResponse {
    .json(try JSONWriter.object(body), status: status)
  }
}
