import CampaignStore
import CommandSupport
import PushCore
import ServiceTools

/// The findings of `lint` in a file: the findings of the rules and, for a job, the findings that `submit` gets from the
/// store.
///
/// If the task is cancelled, the lint ends after its current step. A step takes a fraction of a second even for the
/// largest job.
struct JobLint {
  private(set) var lint: PushLint
  /// Reason why templates, segments and attributes could not be looked up; `nil` if they were looked up, or if this was
  /// not necessary.
  private(set) var unchecked: String?

  /// - Parameters:
  ///   - bytes: a job, a template or a payload.
  ///   - pushType: the push type, if the file is a payload; `nil` to infer it from the payload.
  ///   - app: the app that sends the push, if the file is a payload.
  ///   - apps: the apps of the configuration.
  ///   - services: the services that the apps can use.
  ///   - now: UNIX seconds.
  ///   - store: opens the store. Called only if the file is a job.
  /// - Throws: ``PushCore/JSONSyntaxError`` if the text is not JSON; `CancellationError`.
  init(
    _ bytes: [UInt8], as pushType: String? = nil, app: String? = nil, apps: JobApps,
    services: KnownServices = .all, now: Int, store: () async throws -> CampaignStore
  ) async throws {
    let tools = services.tools(for: bytes, app: app, apps)
    lint = try Self.lint(bytes, resolved: nil, as: pushType, app: app, tools, apps, now: now)
    guard lint.kind == .job, bytes.count <= CampaignJob.maximumSize else { return }
    do {
      try await lookUp(bytes, tools, apps, now, store())
    } catch let error as StoreError where error.code == .invalid {
      refuse(bytes, with: Self.finding(error))
    } catch let error as JobError {
      refuse(bytes, with: Self.finding(error))
    } catch let error as JSONSyntaxError {
      throw error
    } catch {
      try Task.checkCancellation()
      unchecked = "\(CommandError(error).message)"
    }
  }

  /// Returns the lint of a file by the rules of each service.
  ///
  /// - Throws: ``PushCore/JSONSyntaxError`` if the text is not JSON; `CancellationError`.
  static func lint(
    _ bytes: [UInt8], resolved: [UInt8]?, as pushType: String?, app: String?, _ tools: [any PushServiceTools],
    _ apps: JobApps, now: Int?
  ) throws -> PushLint {
    var lints: [(service: any PushService, lint: PushLint)] = []
    for tools in tools {
      try Task.checkCancellation()
      let lint = try tools.lint(bytes, resolved: resolved, as: pushType, app: app, apps: apps, now: now)
      lints.append((tools.service, lint))
    }
    return .joined(lints)
  }

  /// Adds the errors that `submit` would get from the store. Not inlined: the optimizer of Swift 6.3.1 crashes on the
  /// larger function (`CoroSplit`, with an error that crosses an `await`).
  @inline(never) private mutating func lookUp(
    _ bytes: [UInt8], _ tools: [any PushServiceTools], _ apps: JobApps, _ now: Int, _ store: CampaignStore
  ) async throws {
    let resolved = try await store.campaigns.resolve(bytes)
    if resolved != bytes {
      lint = try Self.lint(bytes, resolved: resolved, as: nil, app: nil, tools, apps, now: now)
    }
    try Task.checkCancellation()
    guard let checked = try check(resolved, apps, now) else { return }
    // If all errors of `lint` concern the times of the job, `check` succeeds. The store then checks the job too,
    // because `submit` reports errors in times last.
    try await store.queue.check(checked.campaign)
    guard lint.findings(.error).isEmpty else { return }
    if let untimely = checked.untimely { return refuse(bytes, with: Self.finding(untimely)) }
    lint.add(try await AttributeWarnings(store: store).find(in: checked.campaign), in: bytes)
  }

  /// Checks a job without its store.
  ///
  /// - Returns: `nil` for an invalid job whose errors `lint` has already found.
  private func check(_ job: [UInt8], _ apps: JobApps, _ now: Int) throws -> CampaignJob.CheckedJob? {
    guard lint.findings(.error).isEmpty else { return try? CampaignJob.check(job, apps, now: now) }
    return try CampaignJob.check(job, apps, now: now)
  }

  /// Adds an error that `submit` would get, unless the rules have found the same one.
  private mutating func refuse(_ job: [UInt8], with finding: Finding) {
    lint.removeUnresolved()
    if !lint.findings.contains(where: { $0.path == finding.path && $0.message == finding.message }) {
      lint.add([finding], in: job)
    }
  }

  private static func finding(_ error: JobError) -> Finding {
    Finding(.job, error.field, error.message, hint: error.hint)
  }

  /// Returns the finding for an error of the store. If the error's message begins with a field, the finding has this
  /// field as its path.
  private static func finding(_ error: StoreError) -> Finding {
    let parts = error.message.split(separator: ": ", maxSplits: 1)
    let hint = error.hint.isEmpty ? nil : error.hint
    guard parts.count == 2, !parts[0].contains(" ") else {
      return Finding(.job, "", error.message, hint: hint)
    }
    return Finding(.job, String(parts[0]), String(parts[1]), hint: hint)
  }
}
