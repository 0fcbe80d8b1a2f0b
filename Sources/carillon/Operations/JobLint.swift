import CampaignStore
import CommandSupport
import PushCore
import ServiceTools

/// The findings of `lint` in a file: those of the rules and, for a job, those that `submit` gets from the store.
///
/// A cancelled task ends between two steps, each of which takes a fraction of a second for the largest job.
struct JobLint {
  private(set) var lint: PushLint
  /// Why templates, segments and attributes could not be looked up; `nil` where they were, or nothing asks for them.
  private(set) var unchecked: String?

  /// - Parameters:
  ///   - bytes: a job, a template or a payload.
  ///   - pushType: the push type of a payload; `nil` infers it.
  ///   - app: the app that sends a payload.
  ///   - apps: those of the configuration.
  ///   - services: the services that the apps can use.
  ///   - now: UNIX seconds.
  ///   - store: opens the store. It is called for a job only.
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
      lint.removeUnresolved()
      lint.add([Self.finding(error)], in: bytes)
    } catch let error as JobError {
      lint.removeUnresolved()
      lint.add([Finding(.job, error.field, error.message, hint: error.hint)], in: bytes)
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

  private mutating func lookUp(
    _ bytes: [UInt8], _ tools: [any PushServiceTools], _ apps: JobApps, _ now: Int, _ store: CampaignStore
  ) async throws {
    let resolved = try await store.campaigns.resolve(bytes)
    if resolved != bytes {
      lint = try Self.lint(bytes, resolved: resolved, as: nil, app: nil, tools, apps, now: now)
    }
    try Task.checkCancellation()
    let isValid = lint.findings(.error).isEmpty
    let judgement: CampaignJob.Judgement
    do {
      judgement = try CampaignJob.judge(resolved, apps, now: now)
    } catch {
      if isValid { throw error }
      return
    }
    // The errors of `lint` may be of its times only. `submit` reports those last, because a known job may be untimely.
    try await store.queue.check(judgement.campaign)
    guard isValid else { return }
    if let untimely = judgement.untimely { throw untimely }
    lint.add(try await AttributeWarnings(store: store).find(in: judgement.campaign), in: bytes)
  }

  /// A refusal of the store at its field, which its message names first.
  private static func finding(_ error: StoreError) -> Finding {
    let parts = error.message.split(separator: ": ", maxSplits: 1)
    let hint = error.hint.isEmpty ? nil : error.hint
    guard parts.count == 2, !parts[0].contains(" ") else {
      return Finding(.job, "", error.message, hint: hint)
    }
    return Finding(.job, String(parts[0]), String(parts[1]), hint: hint)
  }
}
