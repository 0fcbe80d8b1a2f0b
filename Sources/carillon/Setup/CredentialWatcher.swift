import CommandSupport
import Foundation
import PushCore
import PushTransport
import PushWorker
import ServiceTools
import TLS

/// Reads the credential files of a worker again when they change, and reports certificates that expire soon. The worker
/// does not need a restart for this.
///
/// If a changed file can't be used, the watcher reports it, and the earlier credential stays in use.
actor CredentialWatcher {
  /// Event that the worker logs.
  enum Notice: Equatable {
    /// The files changed and are in use.
    case reloaded(app: String)
    /// The files changed and can't be used.
    case unusable(app: String, message: String, hint: String?)
    /// The certificate expires in `days` days; 0 means today.
    case expiring(app: String, certificate: String, days: Int)
    /// The certificate has expired.
    case expired(app: String, certificate: String)
  }

  private struct Watched {
    /// Apps that use the credential, in order.
    var apps: [(name: String, settings: any PushServiceSettings)]
    var files: [String]
    var credential: any PushCredential
    /// State of the files at the last check; `nil` before the first check.
    var stamps: [FileStamp?]?
    var lastNotice: Int64?
    var hasExpired = false
  }

  /// Interval between two checks. It is short enough for an operator who waits, and the cost of a check is small
  /// compared with the worker's other work.
  private static let interval = Duration.seconds(5)
  /// Seconds between two notices about the same certificate.
  private static let day: Int64 = 86_400
  /// Number of days before the expiry when the notices begin.
  private static let warningDays: Int64 = 30

  private var watched: [Watched]
  private let report: @Sendable (Notice) -> Void

  /// - Parameters:
  ///   - apps: the configured apps.
  ///   - channels: the channels of these apps.
  ///   - report: called for each notice.
  init(
    _ apps: [String: CarillonConfiguration.App], channels: [String: AppChannel],
    report: @escaping @Sendable (Notice) -> Void
  ) {
    var watched: [Watched] = []
    for (name, service) in apps.sorted(by: { $0.key < $1.key }).flatMap({ name, app in
      app.services.map { (name, $0) }
    }) {
      let settings = service.settings
      guard let credential = channels[name]?[service.tools.service.name]?.credential else { continue }
      if let index = watched.firstIndex(where: { $0.credential === credential }) {
        watched[index].apps.append((name, settings))
      } else {
        watched.append(Watched(apps: [(name, settings)], files: settings.credentialFiles, credential: credential))
      }
    }
    self.watched = watched
    self.report = report
  }

  /// Checks the files every 5 s, until the task is cancelled.
  func run() async {
    while !Task.isCancelled {
      check(now: Int64(Date.now.timeIntervalSince1970))
      try? await Task.sleep(for: Self.interval)
    }
  }

  /// Checks the files once.
  ///
  /// - Parameter now: UNIX seconds.
  func check(now: Int64) {
    for index in watched.indices {
      reload(&watched[index])
      reportExpiry(&watched[index], now)
    }
  }

  private func reload(_ watched: inout Watched) {
    let stamps = watched.files.map(FileStamp.init(of:))
    guard stamps != watched.stamps else { return }
    let isFirst = watched.stamps == nil
    watched.stamps = stamps
    let app = watched.apps[0]
    do {
      // The files are also read at the first check, because a file may have changed since the start. An unchanged file
      // has no effect.
      try app.settings.reload(watched.credential, sharedBy: watched.apps.map(\.settings))
      guard !isFirst else { return }
      watched.credential.resume()
      watched.lastNotice = nil
      report(.reloaded(app: app.name))
    } catch {
      let error = CommandError(error)
      report(.unusable(app: app.name, message: error.message, hint: error.hint))
    }
  }

  private func reportExpiry(_ watched: inout Watched, _ now: Int64) {
    let app = watched.apps[0]
    guard let expiry = app.settings.expiry(of: watched.credential) else { return }
    let left = expiry.end - now
    let hasExpired = left < 0
    guard left < Self.warningDays * Self.day else { return }
    if hasExpired == watched.hasExpired, let last = watched.lastNotice, now - last < Self.day { return }
    watched.lastNotice = now
    watched.hasExpired = hasExpired
    report(
      hasExpired
        ? .expired(app: app.name, certificate: expiry.name)
        : .expiring(app: app.name, certificate: expiry.name, days: Int(left / Self.day)))
  }
}
