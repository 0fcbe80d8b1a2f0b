import Foundation
import HTTPServer
import TLS

/// The route of the dashboard: one HTML file that sends requests only to the API of the same server.
public enum PageRoute {
  /// `GET /`.
  public static var route: Route {
    let response = response(to: EmbeddedText.page_html)
    return Route("GET", "/", nil, query: .ignored) { _ in response }
  }

  /// Returns the dashboard with a content security policy. The policy lists the hashes of the scripts and styles in the
  /// file, so browsers do not run injected code. Style attributes are allowed, because the dashboard sets the lengths
  /// of bars with them.
  static func response(to page: String) -> HTTPResponse {
    let policy = [
      "default-src 'none'", "script-src \(hashes(of: "script", in: page))",
      "style-src-elem \(hashes(of: "style", in: page))",
      "style-src-attr 'unsafe-inline'", "img-src 'self' data:", "connect-src 'self'", "base-uri 'none'",
      "form-action 'none'", "frame-ancestors 'none'",
    ]
    return HTTPResponse(
      200,
      headers: [
        ("Content-Type", "text/html; charset=utf-8"), ("Content-Security-Policy", policy.joined(separator: "; ")),
        ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"), ("Cache-Control", "no-cache"),
      ], body: .bytes(Array(page.utf8)))
  }

  /// Returns the hashes of the contents of all elements with a name, as CSP level 3 writes them; `'none'` if there is
  /// no such element.
  private static func hashes(of element: String, in page: String) -> String {
    var hashes: [String] = []
    var rest = page[...]
    while let start = rest.firstRange(of: "<\(element)>"),
      let end = rest[start.upperBound...].firstRange(of: "</\(element)>")
    {
      let digest = Digest(.sha256).hash(Array(rest[start.upperBound..<end.lowerBound].utf8))
      hashes.append("'sha256-\(Data(digest).base64EncodedString())'")
      rest = rest[end.upperBound...]
    }
    return hashes.isEmpty ? "'none'" : hashes.joined(separator: " ")
  }
}
