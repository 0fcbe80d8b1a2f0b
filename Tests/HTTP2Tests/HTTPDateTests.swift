import Foundation
import HTTP2
import TestKit
import TestSupport
import Testing

/// Dates in header fields, in the three forms of RFC 9110 section 5.6.7.
@Suite struct HTTPDateTests {
  private func seconds(_ text: String) -> Int? {
    var text = text
    return text.withUTF8 { HTTPDate.seconds($0) }.map { Int($0) }
  }

  @Test(arguments: ["EEE, dd MMM yyyy HH:mm:ss 'GMT'", "EEEE, dd-MMM-yy HH:mm:ss 'GMT'", "EEE MMM d HH:mm:ss yyyy"])
  func datesAgreeWithFoundation(form: String) {
    var seed = Seed("HTTPDateTests")
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = form
    // A year of two digits is before 2070.
    for _ in 0..<200 {
      let time = Int.random(in: 0..<3_155_760_000, using: &seed)
      let text = formatter.string(from: Date(timeIntervalSince1970: Double(time)))
      expect(seconds(text), is: time, "\(text)")
    }
  }

  @Test(arguments: [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
    ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 29 Feb 2024 00:00:00 GMT", 1_709_164_800),
    ("Fri, 31 Dec 2027 23:59:60 GMT", 1_830_297_600), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
  ])
  func formIsRead(text: String, time: Int) { expect(seconds(text), is: time) }

  @Test(arguments: [
    "", "120", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 31 Feb 1994 08:49:37 GMT",
    "Wed, 29 Feb 2023 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
    "Sun, 32 Dec 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
    "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, +6 Nov 1994 08:49:37 GMT",
    "Wed, 31 Dec 1969 23:59:59 GMT", "Sun, 06 Nov 19944 08:49:37 GMT",
  ])
  func otherTextIsNoDate(text: String) { expect(seconds(text), is: nil) }
}
