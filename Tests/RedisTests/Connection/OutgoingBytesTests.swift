import TestKit
import TestSupport
import Testing

@testable import Redis

@Suite struct OutgoingBytesTests {
  @Test func nothingIsLostHoweverLittleIsTaken() {
    var seed = Seed("OutgoingBytesTests")
    var outgoing = OutgoingBytes()
    var sent: [UInt8] = []
    var received: [UInt8] = []
    for _ in 0..<300 {
      let chunk = (0..<Int.random(in: 1...9000, using: &seed)).map { _ in UInt8.random(in: 0...255, using: &seed) }
      sent += chunk
      outgoing.append(chunk)
      var quota = Int.random(in: 0...9000, using: &seed)
      outgoing.drain { bytes in
        let count = min(quota, bytes.count)
        quota -= count
        received += bytes[..<count]
        return count
      }
      expect(outgoing.written == UInt64(received.count) && outgoing.waiting == sent.count - received.count)
    }
    outgoing.drain { bytes in
      received += bytes
      return bytes.count
    }
    expect(received, is: sent)
  }
}
