import APNs
import Glibc
@testable import PushCore
import TestKit
import TestSupport
import Testing

/// The sizes of a job's payloads with the values of its recipients, and the CPU time for a job.
@Suite(.takesTurns) struct RecipientSizesTests {
  /// Returns a job with these numbers of recipients, languages and variants. Every text has placeholders.
  private static func job(recipients: Int, languages: Int, variants: Int, using seed: inout Seed) -> [UInt8] {
    let texts = ["{{price}}", "{{price:number.2|none}}", "{{city|far away}}", "{{when:date.long|soon}} {{city}}"]
    func text() -> String {
      (0..<Int.random(in: 1...3, using: &seed)).map { _ in texts.randomElement(using: &seed) ?? "" }.joined()
    }
    let users = (0..<recipients).map { number in
      var values: [String] = []
      if Bool.random(using: &seed) { values.append("\"price\":\(Int.random(in: 0...9_999_999, using: &seed))") }
      if Bool.random(using: &seed) {
        values.append("\"city\":\"\(String(repeating: "x", count: Int.random(in: 0...40, using: &seed)))\"")
      }
      if Bool.random(using: &seed) { values.append("\"when\":\"2026-12-01T09:00:00\"") }
      return "{\"user\":\"u\(number)\",\"vars\":{\(values.joined(separator: ","))}}"
    }
    let letters = "abcdefghijklmnopqrstuvwxyz"
    let tags =
      ["de", "en", "ar", "hi", "fr-CH", "sv", "ja", "pt-BR"] + letters.flatMap { a in letters.map { "q\(a)\($0)" } }
    func localized() -> String {
      (0..<languages).map { "\"\(tags[$0])\":{\"apns\":{\"payload\":{\"aps\":{\"alert\":\"\(text())\"}}}}" }
        .joined(separator: ",")
    }
    let each = (0..<variants).map {
      "{\"name\":\"v\($0)\",\"apns\":{\"payload\":{\"aps\":{\"alert\":\"\(text())\"}}},\"localized\":{\(localized())}}"
    }
    let content =
      variants > 0
      ? "\"variants\":[\(each.joined(separator: ","))]"
      : "\"apns\":{\"payload\":{\"aps\":{\"alert\":\"\(text())\"}}},\"localized\":{\(localized())}"
    return Array(
      "{\"id\":\"a\",\"app\":\"news\",\"audience\":{\"users\":[\(users.joined(separator: ","))]},\(content)}".utf8)
  }

  private static func members(of job: [UInt8]) throws -> [JSONValue.Member] {
    guard case .object(let members) = try JSONValue(parsing: job, maximumDepth: 32).kind else { return [] }
    return members
  }

  /// The bound is never below the exact size, which is that of the largest push.
  @Test func boundIsNeverTooSmall() throws {
    var seed = Seed("boundIsNeverTooSmall")
    for _ in 0..<60 {
      let job = Self.job(
        recipients: Int.random(in: 1...12, using: &seed), languages: Int.random(in: 0...8, using: &seed), variants: 0,
        using: &seed)
      let fields = try JobFields(Self.members(of: job))
      var reader = PayloadReader(in: job, audience: fields.value("audience"))
      let forms = try reader.forms(of: ContentSource(fields, for: APNsService(), known: nil))
      let content = PersonalContent(values: reader.values, forms: forms.map(PersonalContent.Form.init))
      guard case .object(let audience)? = fields.value("audience")?.kind else { continue }
      let recipients = try #require(try JobRecipient.all(JobFields(audience)))
      var (exact, bound, coarse) = (forms, forms, forms)
      var sizes = RecipientSizes(content, in: job, of: recipients)
      sizes.measure(&exact)
      sizes.maximumSteps = 0
      sizes.measure(&bound)
      sizes.maximumFormatted = 0
      sizes.measure(&coarse)
      for index in forms.indices {
        expect(exact[index].size <= bound[index].size && bound[index].size <= coarse[index].size)
        expect(exact[index].largestFor == nil, is: exact[index].size == forms[index].size)
      }
    }
  }

  /// Returns the CPU time of this thread, in seconds.
  private static func measure(_ body: () throws -> Void) rethrows -> Double {
    func now() -> Double {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
    let start = now()
    try body()
    return now() - start
  }

  /// A job four times as large takes about four times as long, not sixteen times. Both jobs are above the limit for
  /// exact sizes. Below the limit the time grows faster.
  @Test func workOfALargeJobGrowsWithItsLength() throws {
    var seed = Seed("workOfALargeJobGrowsWithItsLength")
    func time(_ factor: Int) throws -> (seconds: Double, bytes: Int) {
      let job = Self.job(recipients: 3000 * factor, languages: 60 * factor, variants: 4, using: &seed)
      let seconds = try Self.measure { _ = try CampaignJob.examine(job, .any([APNsService()])) }
      return (seconds, job.count)
    }
    let (small, large) = (try time(1), try time(4))
    let growth = (large.seconds / small.seconds) / (Double(large.bytes) / Double(small.bytes))
    expect(growth < 2.5, "\(small) \(large)")
  }

  @Test func payloadThatNoServiceAcceptsIsRefused() throws {
    let text = String(repeating: "x", count: 17_000)
    let job = #"{"id":"a","app":"news","audience":{"segment":"*"},"apns":{"payload":{"aps":{"alert":"\#(text)"}}}}"#
    do {
      _ = try CampaignJob.parse(Array(job.utf8), .any([APNsService()]))
      Issue.record("it was accepted")
    } catch {
      expect(
        error.field == "apns.payload" && error.message == "has 17020 bytes, more than the limit of 16384 for a push")
    }
    let patch =
      #"{"id":"a","app":"news","audience":{"segment":"*"},"apns":{"payload":{"aps":{"alert":"hi"}}},"#
      + #""localized":{"de":{"apns":{"payload":{"aps":{"alert":"\#(text)"}}}}}}"#
    do {
      _ = try CampaignJob.parse(Array(patch.utf8), .any([APNsService()]))
      Issue.record("it was accepted")
    } catch {
      expect(error.field, is: "localized.de")
    }
  }
}
