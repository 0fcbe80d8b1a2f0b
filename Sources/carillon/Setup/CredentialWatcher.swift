import CommandSupport
import Foundation
import PushTransport
import PushWorker
import ServiceTools
import TLS

/// Keeps the credentials of a worker up to date without a restart: reads their files again when they change, and tells of
/// certificates that are about to expire.
///
/// A changed file that can't be used is told of, and what was read before stays in use.
actor CredentialWatcher {
  /// Something worth a line in the log.
  enum Notice: Equatable {
    /// Its files changed, and are in use.
    case reloaded(app: String)
    /// Its files changed, and can't be used.
    case unusable(app: String, message: String, hint: String?)
    /// The certificate ceases to be valid in so many days; 0 is today.
    case expiring(app: String, certificate: String, days: Int)
    /// It has.
    case expired(app: String, certificate: String)
  }

  private struct Watched {
    /// Those that use it, in order.
    var apps: [(name: String, settings: any PushServiceSettings)]
    var files: [String]
    var credential: any PushCredential
    /// As they were at the last look; `nil` before the first.
    var stamps: [FileStamp?]?
    var lastNotice: Int64?
    var hasExpired = false
  }

  /// Between two looks: soon enough for somebody who waits for it, and nothing beside what a worker does otherwise.
  private static let interval = Duration.seconds(5)
  /// Seconds between two words about the same certificate's end.
  private static let day: Int64 = 86_400
  /// Days before a certificate's end from which on it is told of.
  private static let warningDays: Int64 = 30

  private var watched: [Watched]
  private let tell: @Sendable (Notice) -> Void

  /// - Parameters:
  ///   - apps: as configured.
  ///   - channels: what was made of them.
  ///   - tell: gets what is worth a line in the log.
  init(
    _ apps: [String: CarillonConfiguration.App], channels: [String: AppChannel],
    tell: @escaping @Sendable (Notice) -> Void
  ) {
    var watched: [Watched] = []
    for (name, app) in apps.sorted(by: { $0.key < $1.key }) {
      guard let credential = channels[name]?.credential else { continue }
      if let index = watched.firstIndex(where: { $0.credential === credential }) {
        watched[index].apps.append((name, app.service.settings))
      } else {
        let settings = app.service.settings
        watched.append(Watched(apps: [(name, settings)], files: settings.credentialFiles, credential: credential))
      }
    }
    self.watched = watched
    self.tell = tell
  }

  /// Looks every few seconds, until the task is cancelled.
  func run() async {
    while !Task.isCancelled {
      look(now: Int64(Date.now.timeIntervalSince1970))
      try? await Task.sleep(for: Self.interval)
    }
  }

  /// Looks once.
  ///
  /// - Parameter now: UNIX seconds.
  func look(now: Int64) {
    for index in watched.indices {
      reload(&watched[index])
      tellOfExpiry(&watched[index], now)
    }
  }

  private func reload(_ watched: inout Watched) {
    let stamps = watched.files.map(FileStamp.init(of:))
    guard stamps != watched.stamps else { return }
    let isFirst = watched.stamps == nil
    watched.stamps = stamps
    let app = watched.apps[0]
    do {
      // The first time too: it may have changed since it was read at the start. What is the same changes nothing.
      try app.settings.reload(watched.credential, sharedBy: watched.apps.map(\.settings))
      guard !isFirst else { return }
      watched.credential.resume()
      watched.lastNotice = nil
      tell(.reloaded(app: app.name))
    } catch {
      let error = CommandError(error)
      tell(.unusable(app: app.name, message: error.message, hint: error.hint))
    }
  }

  private func tellOfExpiry(_ watched: inout Watched, _ now: Int64) {
    let app = watched.apps[0]
    guard let expiry = app.settings.expiry(of: watched.credential) else { return }
    let left = expiry.end - now
    let hasExpired = left < 0
    guard left < Self.warningDays * Self.day else { return }
    if hasExpired == watched.hasExpired, let last = watched.lastNotice, now - last < Self.day { return }
    watched.lastNotice = now
    watched.hasExpired = hasExpired
    tell(
      hasExpired
        ? .expired(app: app.name, certificate: expiry.name)
        : .expiring(app: app.name, certificate: expiry.name, days: Int(left / Self.day)))
  }
}
