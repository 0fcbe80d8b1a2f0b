import Admin
import HTTPServer
import PushCore

/// An operation of the API: its route and its description for clients. The OpenAPI document is generated from these
/// values, so it always matches the server.
struct APIOperation: Sendable {
  /// A query parameter.
  struct Parameter: Sendable {
    var name: String
    /// The JSON Schema of the value.
    var schema: String
    var meaning: String
    var isRequired = false
  }

  /// The body of a request.
  struct Body: Sendable {
    /// The JSON Schema of the value.
    var schema: String
    /// The maximum size in bytes.
    var limit: Int
    var isRequired = true
  }

  /// An answer.
  struct Answer: Sendable {
    var status: Int
    var meaning: String
    /// The JSON Schema of the body; `nil` if the body is not JSON.
    var schema: String?
    var type = "application/json"
    /// An alternative media type.
    var otherType: String?
    /// Links to operations that a client can call next. OpenAPI describes them for clients that explore the API.
    var links: [Link] = []
  }

  /// A link to an operation that uses a value of an answer.
  struct Link: Sendable {
    /// The name of the operation.
    var operation: String
    /// A parameter of the operation, and the name of the member of the answer that contains its value.
    var parameter: String
    var member: String

    /// Returns links to several operations with the same parameter.
    static func to(_ operations: [String], _ parameter: String, _ member: String? = nil) -> [Link] {
      operations.map { Link(operation: $0, parameter: parameter, member: member ?? parameter) }
    }
  }

  /// The name of the operation in generated clients, such as `listCampaigns`.
  var name: String
  var method: String
  /// The path below `/api/v1`.
  var path: String
  var scope: Scope?
  var effect = Effect.reads
  var summary: String
  var parameters: [Parameter] = []
  var body: Body?
  var answers: [Answer]
  var run: @Sendable (RouteCall) async throws -> HTTPResponse

  static let root = "/api/v1"

  /// The route of the operation.
  var route: Route {
    Route(
      method, Self.root + path, scope, query: .names(parameters.map(\.name)), bodyLimit: body?.limit ?? 0, handle: run)
  }
}

extension HTTPResponse {
  /// Creates an answer with JSON.
  static func json(_ json: String, status: Int = 200) -> HTTPResponse {
    HTTPResponse(
      status, headers: [("Content-Type", "application/json"), ("Cache-Control", "no-store")],
      body: .bytes(Array(json.utf8)))
  }

  /// Creates an answer with the object that `body` writes.
  static func object(status: Int = 200, _ body: (inout JSONWriter) throws -> Void) rethrows -> HTTPResponse {
    .json(try JSONWriter.object(body), status: status)
  }
}
