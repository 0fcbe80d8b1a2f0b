import Dispatch
public import HTTPServer
import Synchronization

/// All routes of a process. The site finds the route of a request, checks the scopes of its token, and converts errors
/// to ``Problem`` responses.
public final class Site: HTTPHandler {
  private struct State {
    var routes: [Route]
    var tokens: AccessTokens
    var rates: [String: RequestRate] = [:]
    /// Limits requests with a missing or wrong token. This slows down attempts to guess a token, and does not affect
    /// requests with valid tokens.
    var failures = RequestRate(rate: 5, burst: 20)
  }

  /// Limit of the requests of one token: requests per second, and burst. A dashboard sends a few requests every two
  /// seconds; a backend may register devices one by one.
  private static let rate = (perSecond: 200.0, burst: 400.0)

  /// Converts any error of another module to a problem.
  private let describe: @Sendable (any Error) -> Problem
  private let state: Mutex<State>

  /// - Parameters:
  ///   - routes: the routes. If two routes match a request, the first one is used.
  ///   - tokens: the tokens for routes with a scope.
  ///   - describe: converts any error to a problem.
  public init(_ routes: [Route], tokens: AccessTokens, describe: @escaping @Sendable (any Error) -> Problem) {
    self.describe = describe
    state = Mutex(State(routes: routes, tokens: tokens))
  }

  /// Replaces the routes. The old routes still answer the requests in progress.
  public func replace(_ routes: [Route]) { state.withLock { $0.routes = routes } }

  /// Replaces the tokens.
  public func replace(_ tokens: AccessTokens) {
    state.withLock { state in
      state.tokens = tokens
      state.rates = state.rates.filter { tokens.has($0.key) }
    }
  }

  public func admit(_ request: HTTPRequest) -> HTTPAdmission {
    do throws(Problem) {
      let (route, _, _) = try find(request)
      try route.checkBody(of: request)
      if let answer = route.answer { return .refuse(answer()) }
      return .accept(route.terms)
    } catch {
      return .refuse(error.response)
    }
  }

  public func respond(to request: HTTPRequest) async -> HTTPResponse {
    do {
      let (route, parameters, holder) = try find(request, isAgain: true)
      return try await route.handle(RouteCall(request: request, parameters: parameters, holder: holder))
    } catch {
      return (error as? Problem ?? describe(error)).response
    }
  }

  public func refusal(status: Int, reason: String) -> HTTPResponse {
    let code = status == 503 ? "unreachable" : "usage"
    return Problem(status, code, reason, retryAfter: status == 503 ? 1 : nil).response
  }

  /// Finds the route and the token's holder of a request.
  ///
  /// - Parameter isAgain: whether the request was found before, and has already taken a permit.
  private func find(
    _ request: HTTPRequest, isAgain: Bool = false
  ) throws(Problem) -> (Route, [String: String], AccessTokens.Holder?) {
    var others: [String] = []
    for route in state.withLock({ $0.routes }) {
      guard let parameters = route.match(request.path) else { continue }
      guard route.answers(request.method) else {
        others += route.methods
        continue
      }
      let holder = try holder(of: request, for: route, isAgain: isAgain)
      if case .names(let known) = route.query { try Self.check(request.query, known) }
      return (route, parameters, holder)
    }
    guard others.isEmpty else {
      let methods = Set(others).sorted().joined(separator: ", ")
      // A 405 requires the header Allow (RFC 9110 section 15.5.6).
      throw Problem(
        405, "usage", "this path does not allow \(request.method)", hint: "use \(methods)", headers: ["Allow": methods])
    }
    throw Problem(404, "notFound", "this path does not exist", hint: "see /api/v1/openapi.json of carillon admin")
  }

  private static func check(_ query: [(name: String, value: String)], _ known: [String]) throws(Problem) {
    var seen: Set<String> = []
    for (name, _) in query {
      guard known.contains(name) else {
        throw Problem(
          400, "usage", "the query has an unknown parameter",
          hint: known.isEmpty ? "this path has no parameters" : "known: \(known.joined(separator: ", "))")
      }
      guard seen.insert(name).inserted else { throw Problem(400, "usage", "\(name) is given twice") }
    }
  }

  private func holder(
    of request: HTTPRequest, for route: Route, isAgain: Bool
  ) throws(Problem) -> AccessTokens.Holder? {
    guard let scope = route.scope else { return nil }
    let now = DispatchTime.now().uptimeNanoseconds
    let words = request.header("Authorization")?.split(separator: " ") ?? []
    let token = words.count == 2 && words[0].lowercased() == "bearer" ? String(words[1]) : nil
    return try state.withLock { state throws(Problem) in
      guard let token, let holder = state.tokens.holder(of: token) else {
        if !isAgain, let wait = state.failures.take(now: now) {
          throw Problem(
            429, "rate", "too many requests without a valid token", hint: "wait, then use a valid token",
            retryAfter: wait)
        }
        throw Problem(
          401, "unauthorized", token == nil ? "the request has no access token" : "the access token is unknown",
          hint: "send Authorization: Bearer TOKEN; carillon admin token NAME --scope \(scope.rawValue) creates a token")
      }
      guard holder.may(scope) else {
        throw Problem(
          403, "forbidden", "the token \(holder.name) lacks the scope \(scope.rawValue)",
          hint: "create a token with this scope: carillon admin token NAME --scope \(scope.rawValue)")
      }
      if !isAgain {
        var rate =
          state.rates[holder.name] ?? RequestRate(rate: Self.rate.perSecond, burst: Self.rate.burst)
        let wait = rate.take(now: now)
        state.rates[holder.name] = rate
        if let wait {
          throw Problem(
            429, "rate", "more than \(Int(Self.rate.perSecond)) requests a second with one token",
            hint: "wait, or send fewer and larger requests", retryAfter: wait)
        }
      }
      return holder
    }
  }
}
