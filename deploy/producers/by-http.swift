// Submits a campaign through HTTP: swiftc by-http.swift && CARILLON_TOKEN=carillon_… ./by-http ID USER
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct Job: Encodable {
  struct Audience: Encodable { let users: [String] }
  let id: String, app: String, audience: Audience, message: [String: String]
}

let (arguments, settings) = (CommandLine.arguments, ProcessInfo.processInfo.environment)
guard arguments.count == 3, let token = settings["CARILLON_TOKEN"],
  let url = URL(string: (settings["CARILLON_URL"] ?? "http://127.0.0.1:8080") + "/api/v1/campaigns")
else { fatalError("CARILLON_TOKEN=… by-http ID USER") }

var request = URLRequest(url: url, timeoutInterval: 10)
request.httpMethod = "POST"
request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
request.setValue("application/json", forHTTPHeaderField: "Content-Type")
request.httpBody = try JSONEncoder().encode(
  Job(
    id: arguments[1], app: "news", audience: .init(users: [arguments[2]]),
    message: ["body": "Hello from Swift"]))
let (body, answer) = try await URLSession.shared.data(for: request)
let status = (answer as? HTTPURLResponse)?.statusCode ?? 0
// A refusal has a body by RFC 9457 with the error and a hint.
print(status, String(decoding: body, as: UTF8.self))
exit((200..<300).contains(status) ? 0 : 1)
