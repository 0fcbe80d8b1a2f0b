import Admin
import PushCore

/// The OpenAPI 3.1 document, made of the operations.
enum OpenAPI {
  static let name = #"{"type":"string","pattern":"^[A-Za-z0-9._-]{1,64}$"}"#
  static let cursor = APIOperation.Parameter(
    name: "cursor", schema: #"{"type":"string"}"#, meaning: "next of the page before")

  static func limit(most: Int) -> APIOperation.Parameter {
    .init(
      name: "limit", schema: "{\"type\":\"integer\",\"minimum\":1,\"maximum\":\(most)}",
      meaning: "How many; 50 unless given")
  }

  static func ref(_ name: String) -> String { "{\"$ref\":\"#/components/schemas/\(name)\"}" }

  /// A page of a list.
  static func page(_ member: String, of element: String) -> String {
    "{\"type\":\"object\",\"required\":[\"\(member)\",\"next\"],\"properties\":{\"\(member)\":{\"type\":\"array\","
      + "\"items\":\(ref(element))},\"next\":{\"type\":[\"string\",\"null\"]}}}"
  }

  static func document(_ operations: [APIOperation]) -> String {
    var json = JSONWriter()
    json.beginObject()
    json.member("openapi", "3.1.0")
    json.name("info")
    json.beginObject()
    json.member("title", "Carillon")
    json.member("version", "1")
    json.member(
      "description",
      "Push campaigns: submit, watch and control them, register devices, mend what waits. Errors are RFC 9457 problems with the same codes, words and hints as the commands. Tokens have scopes: view, submit, operate, admin."
    )
    json.endObject()
    json.name("paths")
    json.beginObject()
    var seen: Set<String> = []
    for operation in operations where seen.insert(operation.path).inserted {
      json.name(APIOperation.root + operation.path)
      json.beginObject()
      for other in operations where other.path == operation.path { write(other, to: &json) }
      json.endObject()
    }
    json.endObject()
    json.name("components")
    json.beginObject()
    json.name("securitySchemes")
    json.raw(#"{"token":{"type":"http","scheme":"bearer"}}"#.utf8)
    json.name("schemas")
    json.beginObject()
    for (name, schema) in OpenAPISchemas.all.sorted(by: { $0.key < $1.key }) {
      json.name(name)
      json.raw(schema.utf8)
    }
    json.endObject()
    json.endObject()
    json.endObject()
    return json.text
  }

  private static func write(_ operation: APIOperation, to json: inout JSONWriter) {
    json.name(operation.method.lowercased())
    json.beginObject()
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
      json.name("requestBody")
      json.beginObject()
      json.member("required", body.isRequired)
      content(["application/json"], body.schema, to: &json)
      json.endObject()
    }
    json.name("responses")
    json.beginObject()
    for answer in operation.answers {
      json.name(String(answer.status))
      json.beginObject()
      json.member("description", answer.meaning)
      content([answer.type] + (answer.otherType.map { [$0] } ?? []), answer.schema ?? "{}", to: &json)
      if !answer.links.isEmpty { write(answer.links, to: &json) }
      json.endObject()
    }
    json.name("default")
    json.beginObject()
    json.member("description", "What is wrong, where, and what to do")
    content(["application/problem+json"], ref("Problem"), to: &json)
    json.endObject()
    json.endObject()
    json.endObject()
  }

  private static func write(_ links: [APIOperation.Link], to json: inout JSONWriter) {
    json.name("links")
    json.beginObject()
    for link in links {
      json.name(link.operation)
      json.beginObject()
      json.member("operationId", link.operation)
      json.name("parameters")
      json.beginObject()
      json.member(link.parameter, "$response.body#/\(link.member)")
      json.endObject()
      json.endObject()
    }
    json.endObject()
  }

  private static func content(_ types: [String], _ schema: String, to json: inout JSONWriter) {
    json.name("content")
    json.beginObject()
    for type in types {
      json.name(type)
      json.beginObject()
      json.name("schema")
      json.raw(schema.utf8)
      json.endObject()
    }
    json.endObject()
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
