public import HTTPServer
import PushCore

/// An error of the API in the form of RFC 9457: the problem, its place and the next step.
public struct Problem: Error, Sendable, Equatable {
  public var status: Int
  /// The `code` that a command has in its `--json` error, or a code of the API alone.
  public var code: String
  /// The problem and its place.
  public var detail: String
  /// The next step.
  public var hint: String?
  /// Headers of the response that repeat a part of the error for programs, such as `Retry-After`.
  public var headers: [String: String]

  /// Creates a problem from its parts.
  ///
  /// - Parameter retryAfter: seconds after which to try again.
  public init(
    _ status: Int, _ code: String, _ detail: String, hint: String? = nil, retryAfter: Int? = nil,
    headers: [String: String] = [:]
  ) {
    self.status = status
    self.code = code
    self.detail = detail
    self.hint = hint
    self.headers = headers
    if let retryAfter { self.headers["Retry-After"] = String(retryAfter) }
    // A 401 requires this header (RFC 6750 section 3).
    if status == 401 { self.headers["WWW-Authenticate"] = "Bearer realm=\"carillon\"" }
  }

  /// The error as an HTTP response.
  public var response: HTTPResponse {
    var json = JSONWriter()
    json.beginObject()
    // RFC 9457 section 4.2.1: with about:blank, the problem has only the meaning of the status, and the title is the
    // phrase of the status.
    json.member("type", "about:blank")
    json.member("title", Self.title(of: status))
    json.member("status", status)
    json.member("detail", detail)
    json.member("code", code)
    json.member("hint", hint)
    json.endObject()
    var response = HTTPResponse(status, json.text, type: "application/problem+json")
    response.headers += headers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    return response
  }

  private static func title(of status: Int) -> String {
    switch status {
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 408: "Request Timeout"
    case 409: "Conflict"
    case 413: "Content Too Large"
    case 415: "Unsupported Media Type"
    case 422: "Unprocessable Content"
    case 429: "Too Many Requests"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    default: "Error"
    }
  }
}
