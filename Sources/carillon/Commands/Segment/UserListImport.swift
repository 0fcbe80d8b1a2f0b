import ArgumentParser
import CampaignStore
import CommandSupport
import Foundation
import PushCore

/// An import of a file with one user id per line into a segment or a suppression list.
struct UserListImport {
  /// Number of users per write to Redis: about 16 per partition of a store with 256 partitions.
  private static let batch = 4096
  /// Maximum length of a line in bytes. In the longest line, every character of the id is a quotation mark, which CSV
  /// doubles; the line also has the enclosing quotes and some blanks.
  private static let longestLine = 2 * UserID.maximumLength + 64

  private let file: String
  private let segment: String
  private let options: ReplaceOptions
  private let global: GlobalOptions

  /// - Parameters:
  ///   - file: the path of the file; `-` for standard input.
  ///   - segment: the segment that stores the list.
  ///   - options: whether the file replaces the list, and the time of the file's content.
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
              .conflict, "\(input.path): another import of a newer list finished first, and its list stays in use",
              hint: "find the other import; if this list is the right one, import it again")
          }
        } else {
          try await store.audiences.discard(replacement)
        }
      }
    } catch {
      // This frees the memory of the unfinished list immediately. Otherwise, Redis would expire the list later.
      if let replacement { try? await store.audiences.discard(replacement) }
      throw error
    }
    let isReplaced = replacement == nil || report.skipped == 0
    if isReplaced {
      await UserListChange(store: store, actor: .commandLine)
        .recordImport(of: report.imported, into: segment, isReplaced: replacement != nil)
    } else {
      report.imported = 0
    }
    try StandardOutput.printLine(global.json ? report.json : report.text(of: input.path))
    if !isReplaced, !global.json {
      StandardError.write("\(input.path): nothing was replaced: fix the bad lines, then import again\n")
    }
    if report.skipped > 0 { throw ExitCode(CommandError.Code.input.exitStatus) }
  }

  /// Refuses a list that is empty, or that has fewer than half of the users of the present list.
  private func checkSize(
    of replacement: SegmentReplacement, in store: CampaignStore, _ path: String
  ) async throws {
    let (users, before) = (
      try await store.audiences.size(of: replacement), try await store.audiences.size(ofSegment: segment)
    )
    guard users == 0 || users * ReplaceOptions.largestShrink < before else { return }
    throw CommandError(
      .input,
      "\(path): \(users == 0 ? "has no user" : "has \(users.grouped) \(users == 1 ? "user" : "users")"); "
        + "the list in use has \(before.grouped); nothing was replaced",
      hint: "check that the export is complete; --allow-shrink replaces the list anyway")
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

/// Options for replacing a list of users with a file.
struct ReplaceOptions: ParsableArguments {
  /// A list that shrinks below 1/`largestShrink` of its users needs `--allow-shrink`, because the file may be a
  /// truncated export. A correct list rarely loses half of its users in a day.
  static let largestShrink = 2

  @Flag(help: "Replace the list with the users of the file.")
  var replace = false
  @Flag(help: "Replace the list even if the new list is empty or less than half as long.")
  var allowShrink = false
  @Option(
    help: ArgumentHelp(
      "When the list was written, RFC 3339 or milliseconds (default: the file's modification time; now for a pipe).",
      valueName: "time"))
  var asOf: String?

  func validate() throws {
    guard !replace, allowShrink || asOf != nil else { return }
    let option = allowShrink ? "allow-shrink" : "as-of"
    throw ValidationError("--\(option) needs --replace: add --replace, or omit it.")
  }

  /// Returns the time of the file's content, in ms since 1970; `nil` for the present time.
  func instant(of input: InputFile) throws -> Int? {
    guard let asOf else { return input.size == nil ? nil : input.modified / 1_000_000 }
    do throws(IdentifierError) {
      return try InstantText.read(asOf, "--as-of", now: Int(Date.now.timeIntervalSince1970 * 1000))
    } catch {
      throw CommandError(.usage, error.description)
    }
  }
}
