import Foundation
import PushCore
import TestSupport
import Testing

@Suite struct HTTPDateTests {
  @Test func datesAgreeWithFoundation() {
    var seed = Seed("HTTPDateTests")
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    for _ in 0..<200 {
      let seconds = Int.random(in: 0..<4_102_444_800, using: &seed)
      let text = formatter.string(from: Date(timeIntervalSince1970: Double(seconds)))
      #expect(HTTPDate.seconds(text) == seconds, "\(text)")
    }
    #expect(HTTPDate.seconds("Sun, 06 Nov 1994 08:49:37 GMT") == 784_111_777)
  }

  @Test(arguments: [
    "", "120", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 31 Feb 1994 08:49:37 GMT",
    "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
    "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
    "Sun,  06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
  ])
  func otherTextsAreNotDates(text: String) { #expect(HTTPDate.seconds(text) == nil) }
}
