import Admin
import PushCore

/// The generator of the OpenAPI 3.1 document.
enum OpenAPI {
  static let name = #"{"type":"string","pattern":"^[A-Za-z0-9._-]{1,64}$"}"#
  static let cursor = APIOperation.Parameter(
    name: "cursor", schema: #"{"type":"string"}"#, meaning: "The value of next in the previous page")

  static func limit(most: Int) -> APIOperation.Parameter {
    .init(
      name: "limit", schema: "{\"type\":\"integer\",\"minimum\":1,\"maximum\":\(most)}",
      meaning: "The number of elements (default: 50)")
  }

  static func ref(_ name: String) -> String { "{\"$ref\":\"#/components/schemas/\(name)\"}" }

  /// Returns the JSON Schema of an answer with one page of a list.
  static func page(_ member: String, of element: String) -> String {
    "{\"type\":\"object\",\"required\":[\"\(member)\",\"next\"],\"properties\":{\"\(member)\":{\"type\":\"array\","
      + "\"items\":\(ref(element))},\"next\":{\"type\":[\"string\",\"null\"]}}}"
  }

  static func document(_ operations: [APIOperation]) -> String {
    JSONWriter.object { json in
      json.member("openapi", "3.1.0")
      json.object("info") { json in
        json.member("title", "Carillon")
        json.member("version", "1")
        json.member(
          "description",
          "Push campaigns: submit, watch and control campaigns, register devices, handle quarantined devices and failed jobs. Errors are RFC 9457 problems with the same codes, messages and hints as the commands. Tokens have scopes: view, submit, operate, admin."
        )
      }
      json.object("paths") { json in
        var seen: Set<String> = []
        for operation in operations where seen.insert(operation.path).inserted {
          json.object(APIOperation.root + operation.path) { json in
            for other in operations where other.path == operation.path { write(other, to: &json) }
          }
        }
      }
      json.object("components") { json in
        json.name("securitySchemes")
        json.raw(#"{"token":{"type":"http","scheme":"bearer"}}"#.utf8)
        json.object("schemas") { json in
          for (name, schema) in OpenAPISchemas.all.sorted(by: { $0.key < $1.key }) {
            json.name(name)
            json.raw(schema.utf8)
          }
        }
      }
    }
  }

  private static func write(_ operation: APIOperation, to json: inout JSONWriter) {
    json.object(operation.method.lowercased()) { json in
      json.member("operationId", operation.name)
      json.member("summary", operation.summary)
      json.name("security")
      json.raw((operation.scope == nil ? "[]" : #"[{"token":[]}]"#).utf8)
      json.member("x-scope", operation.scope?.rawValue)
      json.name("parameters")
      json.beginArray()
      for piece in operation.path.split(separator: "/") where piece.hasPrefix("{") {
        let name = String(piece.dropFirst().dropLast())
        write(name, in: "path", schema: pathSchema(of: name), meaning: nil, isRequired: true, to: &json)
      }
      for parameter in operation.parameters {
        write(
          parameter.name, in: "query", schema: parameter.schema, meaning: parameter.meaning,
          isRequired: parameter.isRequired, to: &json)
      }
      json.endArray()
      if let body = operation.body {
        json.object("requestBody") { json in
          json.member("required", body.isRequired)
          content(["application/json"], body.schema, to: &json)
        }
      }
      json.object("responses") { json in
        for answer in operation.answers {
          json.object(String(answer.status)) { json in
            json.member("description", answer.meaning)
            content([answer.type] + (answer.otherType.map { [$0] } ?? []), answer.schema ?? "{}", to: &json)
            if !answer.links.isEmpty { write(answer.links, to: &json) }
          }
        }
        json.object("default") { json in
          json.member("description", "The problem, its place and the hint")
          content(["application/problem+json"], ref("Problem"), to: &json)
        }
      }
    }
  }

  private static func write(_ links: [APIOperation.Link], to json: inout JSONWriter) {
    json.object("links") { json in
      for link in links {
        json.object(link.operation) { json in
          json.member("operationId", link.operation)
          json.object("parameters") { $0.member(link.parameter, "$response.body#/\(link.member)") }
        }
      }
    }
  }

  private static func content(_ types: [String], _ schema: String, to json: inout JSONWriter) {
    json.object("content") { json in
      for type in types {
        json.object(type) { json in
          json.name("schema")
          json.raw(schema.utf8)
        }
      }
    }
  }

  private static func write(
    _ name: String, in place: String, schema: String, meaning: String?, isRequired: Bool, to json: inout JSONWriter
  ) {
    json.beginObject()
    json.member("name", name)
    json.member("in", place)
    json.member("required", isRequired)
    if let meaning { json.member("description", meaning) }
    json.name("schema")
    json.raw(schema.utf8)
    json.endObject()
  }

  private static func pathSchema(of name: String) -> String {
    switch name {
    case "key": #"{"type":"string","pattern":"^[0-9]{1,19}-[0-9]{1,19}$"}"#
    case "user", "token": #"{"type":"string","minLength":1,"maxLength":256}"#
    default: self.name
    }
  }
}
