import APNs
import APNsSimulator
import PushCore
import TLS
import TestKit
import Testing

@testable import PushTransport

/// The pure parts of the curl engine.
@Suite("Parts of the curl engine")
struct CurlPartsTests {
  @Test("alerts are found in libcurl's messages with any version of OpenSSL")
  func alerts() {
    let texts: [(String, TLSAlert?)] = [
      ("OpenSSL SSL_read: error:0A000415:SSL routines::sslv3 alert certificate expired, errno 0", .certificateExpired),
      ("TLS connect error: error:0A000414:SSL routines::ssl/tls alert certificate revoked", .certificateRevoked),
      ("OpenSSL/3.0: error:0A000418:SSL routines::tlsv1 alert unknown ca", .unknownAuthority),
      ("error:0A00045C:SSL routines::tlsv13 alert certificate required", .certificateRequired),
      ("SSL certificate verification failed", .certificateExpired),
      // The client's own rejection of the server, an alert that is not about certificates, and a truncated text.
      ("SSL certificate problem: unable to get local issuer certificate", nil),
      ("error:0A000086:SSL routines::certificate verify failed", nil),
      ("error:0A000438:SSL routines::tlsv1 alert internal error", nil), ("error:0A0004", nil),
      ("SSL_ERROR_SYSCALL, errno 104", nil),
    ]
    for (text, alert) in texts { expect(TLSAlert(libcurl: text), is: alert, "\(text)") }
  }

  @Test("with a certificate there is no authorization header")
  func headers() throws {
    let headers = PushHeaders(topic: "a.b", pushType: .alert, priority: 10)
    let identity = try PushCertificateAuthority().issue(topic: "a.b")
    let lines = HeaderList.lines(headers.request, .certificate(identity, generation: 1))
    expect(lines.first, is: "apns-topic: a.b")
    expect(!lines.contains { $0.hasPrefix("authorization") })
  }

  @Test("GOAWAY is read from libcurl's verbose messages")
  func goAway() {
    expect(CurlGoAway(verbose: "recveived GOAWAY, error=0, last_stream=0\n"), is: .init(error: 0, lastStream: 0))
    expect(
      CurlGoAway(verbose: "[HTTP/2] received GOAWAY, error=11, last_stream=1355"),
      is: .init(error: 11, lastStream: 1355))
    expect(CurlGoAway(verbose: "Connected to 127.0.0.1"), is: nil)
    expect(CurlGoAway(verbose: "GOAWAY"), is: nil)
  }

  @Test(
    "a header of a job is never read as a GOAWAY",
    arguments: [
      "h2h3 [apns-collapse-id: GOAWAY error=0 last_stream=0]",
      "h2h3 [apns-collapse-id: received GOAWAY, error=0, last_stream=0",
      "[HTTP/2] [1] [apns-collapse-id: received GOAWAY, error=0, last_stream=0]",
      "received GOAWAY, error=0, last_stream=0]", "received GOAWAY, error=0]\n, last_stream=0",
    ])
  func forgedGoAway(line: String) { expect(CurlGoAway(verbose: line), is: nil) }

  @Test("configured authorities are the only ones trusted: libcurl's own directory is not used")
  func trust() {
    // The values of file and directory.
    expect(PushEndpoint(url: "https://a", trustRoots: "/ca.pem").trustOptions.map(\.value), is: ["/ca.pem", nil])
    expect(PushEndpoint.production.trustOptions.isEmpty)
  }
}
