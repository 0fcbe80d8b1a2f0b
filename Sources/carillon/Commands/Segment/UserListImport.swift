import ArgumentParser
import CampaignStore
import CommandSupport
import Foundation
import PushCore

/// Reads a file of user ids, one a line, into a list of users, and says how many lines were good.
struct UserListImport {
  /// Users that go to Redis together: some 16 for every partition of a usual store.
  private static let batch = 4096
  /// Bytes of a line: every character of the longest id a quote, quotes around it, and room for blanks.
  private static let longestLine = 2 * UserID.maximumLength + 64

  private let file: String
  private let segment: String
  private let options: ReplaceOptions
  private let global: GlobalOptions

  /// - Parameters:
  ///   - file: its path; `-` is standard input.
  ///   - segment: what the list is kept in.
  ///   - options: whether the file replaces the list, and as of when.
  init(_ file: String, into segment: String, _ options: ReplaceOptions, _ global: GlobalOptions) {
    self.file = file
    self.segment = segment
    self.options = options
    self.global = global
  }

  func run() async throws {
    let input = try InputFile(file)
    let store = try await global.openStore(creating: true, changing: true)
    if SuppressionList(segment: segment) == nil { try await store.audiences.checkNotDefined(segment) }
    let asOf = try options.instant(of: input)
    var replacement = options.replace ? try await store.audiences.replacement(of: segment, asOf: asOf) : nil
    var report = ImportReport(known: 0)
    do {
      try await read(input, into: store, &replacement, &report)
      if let replacement {
        if report.skipped == 0 {
          if !options.allowShrink { try await checkSize(of: replacement, in: store, input.path) }
          guard try await store.audiences.putInForce(replacement) else {
            throw CommandError(
              .conflict, "\(input.path): a newer list was imported in the meantime; it stays in force",
              hint: "see who imports it, then import this list again")
          }
        } else {
          try await store.audiences.discard(replacement)
        }
      }
    } catch {
      // It would expire by itself.
      if let replacement { try? await store.audiences.discard(replacement) }
      throw error
    }
    let isReplaced = replacement == nil || report.skipped == 0
    if !isReplaced { report.imported = 0 }
    try StandardOutput.printLine(global.json ? report.json : report.text(of: input.path))
    if !isReplaced, !global.json {
      StandardError.write("\(input.path): nothing was replaced: mend the bad lines, and import again\n")
    }
    if report.skipped > 0 { throw ExitCode(CommandError.Code.input.exitStatus) }
  }

  /// Refuses a list that is empty, or that has fewer than half of the users of the list in force.
  private func checkSize(
    of replacement: SegmentReplacement, in store: CampaignStore, _ path: String
  ) async throws {
    let (users, before) = (
      try await store.audiences.size(of: replacement), try await store.audiences.size(ofSegment: segment)
    )
    guard users == 0 || users * ReplaceOptions.largestShrink < before else { return }
    throw CommandError(
      .input,
      "\(path): \(users == 0 ? "has no user" : "has \(users.grouped) \(users == 1 ? "user" : "users")"), the list in force \(before.grouped); "
        + "nothing was replaced",
      hint: "see whether the export is whole; to replace the list all the same: --allow-shrink")
  }

  private func read(
    _ input: InputFile, into store: CampaignStore, _ replacement: inout SegmentReplacement?,
    _ report: inout ImportReport
  ) async throws {
    var lines = LineReader(input, maximumLength: Self.longestLine)
    var bar = ProgressBar("importing", unit: "users", total: nil)
    defer { bar.finish() }
    var users: [String] = []
    while true {
      let page = try lines.read()
      for line in page {
        switch line.text.map({ SegmentLine($0, number: line.number) }) {
        case .user(let user):
          report.rows += 1
          users.append(user)
        case .empty, .header: break
        case .bad(let problem):
          bar.finish()
          report.skip(line: line.number, problem, of: input.path, json: global.json)
        case nil:
          bar.finish()
          report.skip(
            line: line.number, "longer than \(UserID.maximumLength) bytes, or not UTF-8", of: input.path,
            json: global.json)
        }
      }
      if users.count >= Self.batch || page.isEmpty {
        report.known = try await add(users, to: store, &replacement) + (report.known ?? 0)
        report.imported += users.count
        users.removeAll(keepingCapacity: true)
      }
      if page.isEmpty { return }
      bar.update(done: report.rows)
    }
  }

  private func add(
    _ users: [String], to store: CampaignStore, _ replacement: inout SegmentReplacement?
  ) async throws -> Int {
    guard var current = replacement else { return try await store.audiences.add(users, to: segment) }
    defer { replacement = current }
    return try await store.audiences.add(users, to: &current)
  }
}

/// Whether a file replaces a list of users, and as of when.
struct ReplaceOptions: ParsableArguments {
  /// A list that shrinks to less than one part in so many needs consent: an export that broke off is shorter, and a list
  /// seldom loses half of its users in a day.
  static let largestShrink = 2

  @Flag(help: "Replace the list by the users of the file.")
  var replace = false
  @Flag(help: "Replace the list even by an empty file, or by one with fewer than half of its users.")
  var allowShrink = false
  @Option(
    help: ArgumentHelp(
      "When the list was written, RFC 3339 or milliseconds; the file's modification time unless given, now for a pipe.",
      valueName: "time"))
  var asOf: String?

  func validate() throws {
    guard !replace, allowShrink || asOf != nil else { return }
    let option = allowShrink ? "allow-shrink" : "as-of"
    throw ValidationError("--\(option) is for --replace: add --replace, or leave it out.")
  }

  /// Returns when the list was written, in ms since 1970; `nil` for now.
  func instant(of input: InputFile) throws -> Int? {
    guard let asOf else { return input.size == nil ? nil : input.modified / 1_000_000 }
    do throws(IdentifierError) {
      return try InstantText.read(asOf, "--as-of", now: Int(Date.now.timeIntervalSince1970 * 1000))
    } catch {
      throw CommandError(.usage, error.description)
    }
  }
}
