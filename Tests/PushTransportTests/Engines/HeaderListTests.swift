import PushCore
import TLS
import TestKit
import Testing

@testable import APNs
@testable import PushTransport

@Suite struct HeaderListTests {
  /// Checks that no configuration or job can make a header block that APNs rejects. Every field has a limit of its own.
  @Test func largestHeaderBlockIsFarBelowWhatAPNsTakes() throws {
    let id = String(repeating: "A", count: 64)
    let token = try ProviderToken(
      keyID: id, teamID: id, issuedAt: 1_700_000_000, generation: 1, key: ECPrivateKey.generate(), keyGeneration: 1)
    // A topic in a configuration has at most 255 bytes, and the longest suffix follows it.
    let bundle = String(repeating: "t", count: 255)
    var most = 0
    for type in PushType.allCases {
      let collapse = String(repeating: "c", count: PushHeaders.maximumCollapseID)
      let channel = String(repeating: "c", count: ChannelID.maximumLength)
      for (collapseID, channel) in [(collapse, nil), (nil, channel)] {
        let headers = PushHeaders(
          topic: type.topic(bundle: bundle), pushType: type, priority: 10, expiration: .max, collapseID: collapseID,
          channel: channel)
        let path = channel == nil ? "/3/device/" + String(repeating: "0", count: 400) : "/4/broadcasts/apps/" + bundle
        let host = String(repeating: "h", count: 255) + ":65535"
        let lines =
          HeaderList.lines(headers.request, .token(token.bearer)) + [
            ":method: POST", ":scheme: https", ":authority: \(host)", ":path: \(path)",
            "apns-request-id: 00000000-0000-0000-0000-000000000000",
          ]
        // Each field counts 32 bytes more (RFC 9113, section 6.5.2). The ": " does not count.
        most = max(most, lines.reduce(0) { $0 + $1.utf8.count - 2 + 32 })
      }
    }
    expect(most < 2500)
  }
}
