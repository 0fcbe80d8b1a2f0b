import Foundation
import TestKit
import TestSupport
import Testing

/// `lint`, `submit`, the API and the worker's intake agree on every job: on whether it is accepted, and on the error.
@Suite(.timeLimit(.minutes(60)), .takesTurns) struct AgreementTests {
  /// Number of random jobs.
  private static let count =
    ProcessInfo.processInfo.environment["CARILLON_TEST_JOBS"].flatMap { Int($0) } ?? 200
  /// Number of disagreements after which the test ends.
  private static let enough = 20

  @Test func readersAgreeOnRandomJobs() async throws {
    var seed = Seed("readersAgreeOnRandomJobs")
    let readers = try await JobReaders()
    var (accepted, refused, disagreements) = (0, 0, 0)
    for number in 0..<Self.count where disagreements < Self.enough {
      let job = RandomJob(using: &seed)
      if try await agree(on: job, number, readers, &disagreements) { accepted += 1 } else { refused += 1 }
    }
    print("random jobs: \(accepted) accepted, \(refused) refused")
    // Accepted and refused jobs must both be frequent, or the jobs test little. The bounds are far below the usual
    // shares.
    expect(accepted > Self.count / 20 && refused > Self.count / 20)
  }

  /// Gives a job to each reader, with ids of the same length.
  ///
  /// - Returns: whether `submit` accepts the job.
  private func agree(
    on job: RandomJob, _ number: Int, _ readers: JobReaders, _ disagreements: inout Int
  ) async throws -> Bool {
    func id(_ reader: String) -> String {
      let digits = String(number)
      return reader + "-" + String(repeating: "0", count: 13 - digits.count) + digits
    }
    func plain(_ refusal: JobReaders.Refusal?, _ reader: String) -> JobReaders.Refusal? {
      refusal.map {
        .init(message: $0.message.replacing(id(reader), with: "ID"), hint: $0.hint.replacing(id(reader), with: "ID"))
      }
    }
    let lint = try await readers.lint(job.text(id("lint"))).compactMap { plain($0, "lint") }
    let submitted = plain(try await readers.submit(job.text(id("subm"))), "subm")
    var others: [(String, JobReaders.Refusal?)] = []
    if submitted == nil { others.append(("the intake after submit", plain(try await readers.takeInNext(), "subm"))) }
    others.append(("the API", plain(try await readers.post(job.text(id("post"))), "post")))
    others.append(("the intake", plain(try await readers.takeIn(job.text(id("list"))), "list")))
    var problems: [String] = []
    for (reader, refusal) in others where !Self.isSame(refusal, submitted) {
      problems.append("\(reader): \(refusal.map { "\($0)" } ?? "accepted")")
    }
    if let submitted {
      if !Self.has(submitted, lint) { problems.append("lint: \(lint)") }
    } else if !lint.isEmpty {
      problems.append("lint: \(lint)")
    }
    guard !problems.isEmpty else { return submitted == nil }
    disagreements += 1
    Issue.record(
      """
      \(job.text("job")) with the mistakes \(job.mistakes)
      submit: \(submitted.map { "\($0)" } ?? "accepted")
      \(problems.joined(separator: "\n"))
      """)
    return submitted == nil
  }

  /// Returns whether the errors of `lint` have the error of `submit`. `lint` also reports the place of a key that
  /// occurs twice, and reports each moved field separately. It takes a file without the main fields of a job for a
  /// payload.
  private static func has(_ refusal: JobReaders.Refusal, _ lint: [JobReaders.Refusal]) -> Bool {
    let twice = "appears twice in one object"
    return lint.contains { error in
      isSame(error, refusal) || error.message.hasSuffix("not a job")
        || error.hint == refusal.hint && refusal.message.hasPrefix(error.message + ", as did ")
        || error.message.contains(twice) && refusal.message.contains(twice)
        || refusal.message.hasPrefix(payload)
    }
  }

  /// The error of `submit` for a file with `aps`, which a worker refuses as an unknown field.
  private static let payload = "this is a payload"

  /// Returns whether two readers report the same error. Some readers append the source of a rule to the hint.
  private static func isSame(_ one: JobReaders.Refusal?, _ other: JobReaders.Refusal?) -> Bool {
    guard let one, let other else { return one == nil && other == nil }
    if one.message.hasPrefix(payload) || other.message.hasPrefix(payload) { return true }
    return one.message == other.message && (one.hint.hasPrefix(other.hint) || other.hint.hasPrefix(one.hint))
  }
}
