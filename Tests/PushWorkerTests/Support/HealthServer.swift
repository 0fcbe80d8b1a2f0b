import HTTPServer
import Synchronization

/// A backend whose health the test sets at any time.
final class HealthServer: Sendable {
  private let handler: Handler
  private let server: HTTPServer

  /// The answer of the server.
  enum Answer {
    case status(Int)
    /// A redirect to another address of the server.
    case redirect
    /// No answer until the server is stopped.
    case silence
  }

  init(_ answer: Answer) throws {
    handler = Handler(answer)
    server = try HTTPServer(HTTPServerOptions(host: "127.0.0.1", port: 0), handler: handler)
  }

  var url: String { "http://127.0.0.1:\(server.port)/health" }

  func set(_ answer: Answer) { handler.state.withLock { $0.answer = answer } }

  /// The requests so far.
  var asked: [String] { handler.state.withLock { $0.asked } }

  func stop() async {
    handler.end()
    await server.stop(within: .seconds(1))
  }

  private final class Handler: HTTPHandler {
    struct State {
      var answer: Answer
      var asked: [String] = []
    }

    let state: Mutex<State>
    private let ends = AsyncStream.makeStream(of: Void.self)

    init(_ answer: Answer) { state = Mutex(State(answer: answer)) }

    func admit(_ request: HTTPRequest) -> HTTPAdmission { .accept(HTTPTerms(bodyLimit: 0)) }

    func respond(to request: HTTPRequest) async -> HTTPResponse {
      let answer = state.withLock {
        $0.asked.append(request.path.joined(separator: "/"))
        return $0.answer
      }
      switch answer {
      case .status(let status): return HTTPResponse(status, "so it is", type: "text/plain")
      case .redirect:
        var response = HTTPResponse(302, "", type: "text/plain")
        response.headers.append(("Location", "/elsewhere"))
        return response
      case .silence:
        for await _ in ends.stream {}
        return HTTPResponse(503, "", type: "text/plain")
      }
    }

    func refusal(status: Int, reason: String) -> HTTPResponse { HTTPResponse(status, reason, type: "text/plain") }

    func end() { ends.continuation.finish() }
  }
}
