import Foundation
import TestKit
import TestSupport
import Testing

/// The requests and the table of operations in `deploy/guide/api.md`, compared with a running `carillon admin`.
@Suite(.enabled(if: Deploy.has("curl"), "no curl"), .timeLimit(.minutes(6))) struct GuideAPITests {
  /// A request of the page and its answer.
  private struct Exchange {
    let method: String
    let path: String
    let body: String?
    let status: Int
    let answer: String

    /// - Parameter text: the request line with headers, the optional body, and the answer, separated by empty lines.
    init(_ text: String) throws {
      var parts = text.components(separatedBy: "\n\n")
      let request = parts.removeFirst().prefix { $0 != "\n" }.split(separator: " ")
      let answer = parts.removeLast().split(separator: "\n", maxSplits: 1)
      guard request.count == 2, answer.count == 2, let status = Int(answer[0]), parts.count <= 1 else {
        throw TestSupportError("not a request and its answer: \(text)")
      }
      (method, path) = (String(request[0]), String(request[1]))
      body = parts.first
      self.status = status
      self.answer = String(answer[1])
    }
  }

  @Test func examplesAndOperationsAreThoseOfTheAPI() async throws {
    var world = try await CarillonWorld()
    world.environment["CARILLON_ADMIN_LISTEN"] = "127.0.0.1:0"
    world.environment["CARILLON_ADMIN_TOKEN_FILE"] = world.folder.path("admin.token")
    let token = try await world.succeed("admin", "token", "guide", "--scope", "admin")
    let admin = try await world.start("admin", "--json")
    let url = try await admin.listeningURL()
    func ask(_ method: String, _ path: String, _ body: String? = nil) async throws -> (status: Int, text: String) {
      let options = [
        "--request", method, "--header", "Authorization: Bearer \(token.trimmingCharacters(in: .newlines))", "--header",
        "Content-Type: application/json",
      ]
      return try await Curl.ask(url + path, options + (body.map { ["--data-binary", $0] } ?? []))
    }

    let page = try GuidePage("deploy/guide/api.md")
    for block in page.blocks where block.kind == "http" {
      let exchange = try Exchange(block.text)
      let answer = try await ask(exchange.method, exchange.path, exchange.body)
      expect(answer.status, is: exchange.status, "\(page):\(block.line): \(answer)")
      expect(try matches(answer.text, exchange.answer), "\(page):\(block.line): \(answer)")
    }
    let operations = try await operations(of: ask("GET", "/api/v1/openapi.json").text)
    let rows = page.rows.filter { $0.count == 3 && $0[0].contains(" /") }
    let named = rows.map { "\($0[0]) \($0[1].trimmingCharacters(in: ["`"]))" }
    expect(Set(named).count, is: named.count, "an operation is listed twice")
    expect(operations.subtracting(named), is: [], "not in the table")
    expect(Set(named).subtracting(operations), is: [], "only in the table")
    let readme = try String(contentsOf: Deploy.package.appending(path: "README.md"), encoding: .utf8)
    expect(readme.contains("\(named.count) operations"), "README.md has another number than \(named.count)")
    admin.send(signal: SIGTERM)
    expect(await admin.waitForExit(), is: .status(0))
  }

  /// Returns whether an answer equals the documented JSON. A documented text `…` matches any text.
  private func matches(_ answer: String, _ documented: String) throws -> Bool {
    func equal(_ value: Any, _ shown: Any) -> Bool {
      switch (value, shown) {
      case (is String, let shown as String) where shown == "…": true
      case (let value as [String: Any], let shown as [String: Any]):
        Set(value.keys) == Set(shown.keys) && value.allSatisfy { equal($1, shown[$0] ?? NSNull()) }
      case (let value as NSObject, let shown as NSObject): value == shown
      default: false
      }
    }
    return equal(
      try JSONSerialization.jsonObject(with: Data(answer.utf8)),
      try JSONSerialization.jsonObject(with: Data(documented.utf8)))
  }

  /// Returns each operation of an OpenAPI document with its scope: `GET /campaigns view`.
  private func operations(of document: String) throws -> Set<String> {
    let root = try JSONSerialization.jsonObject(with: Data(document.utf8)) as? [String: Any]
    let paths = try #require(root?["paths"] as? [String: [String: [String: Any]]])
    var operations: Set<String> = []
    for (path, methods) in paths {
      for (method, operation) in methods where operation["operationId"] != nil {
        let scope = operation["x-scope"] as? String ?? "none"
        operations.insert("\(method.uppercased()) \(path.replacing("/api/v1", with: "", maxReplacements: 1)) \(scope)")
      }
    }
    return operations
  }
}
