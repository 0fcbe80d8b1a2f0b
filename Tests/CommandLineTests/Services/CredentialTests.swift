import PushTransport
import APNs
import APNsSimulator
import Foundation
import PushCore
import PushWorker
import ServiceTools
import Synchronization
import TLS
import TestKit
import TestSupport
import Testing

@testable import CommandSupport
@testable import carillon

/// Credentials from the configuration. The program checks them at the start and reads them again when their files
/// change.
@Suite struct CredentialTests {
  private let folder: ScratchFolder
  private let authority: PushCertificateAuthority

  init() throws {
    folder = try ScratchFolder("credentials")
    authority = try PushCertificateAuthority()
  }

  private func app(
    _ credential: APNsSettings.Credential, topic: String = "com.example.news"
  ) -> CarillonConfiguration.App {
    .init(
      services: [
        CarillonConfiguration.AppService(
          configured: ConfiguredService(
            APNsTools(), APNsSettings(path: "apps.news.apns", topic: topic, credential: credential)))
      ])
  }

  /// Writes a certificate with its key as PEM. Returns an app that uses this certificate.
  private func certificateApp(_ identity: TLSIdentity, file: String = "push.pem") throws -> CarillonConfiguration.App {
    let path = try folder.writeSecret(file, identity.certificateChainPEM + identity.privateKeyPEM)
    return app(.certificate(.init(file: path)))
  }

  private func certificate(_ channel: AppChannel?) throws -> ClientCertificate {
    try #require(channel?.services.first?.credential as? ClientCertificate)
  }

  /// Returns a watcher, its channels, and the notices that it gives.
  private func watch(_ apps: [String: CarillonConfiguration.App]) throws -> (
    CredentialWatcher, [String: AppChannel], Reports
  ) {
    let (channels, reports) = (try AppChannels.make(apps), Reports())
    return (CredentialWatcher(apps, channels: channels) { reports.add($0) }, channels, reports)
  }

  private final class Reports: Sendable {
    private let notices = Mutex<[CredentialWatcher.Notice]>([])
    func add(_ notice: CredentialWatcher.Notice) { notices.withLock { $0.append(notice) } }
    /// Returns the notices since the last call.
    func take() -> [CredentialWatcher.Notice] {
      notices.withLock { notices in
        defer { notices = [] }
        return notices
      }
    }
  }

  private var now: Int64 { Int64(Date.now.timeIntervalSince1970) }

  @Test func appsOfTheSameCertificateOrKeyShareIt() throws {
    let identity = try authority.issue(topic: "com.example.news")
    let key = try folder.writeSecret("key.p8", ECPrivateKey.generate().pem)
    let token = APNsSettings.Token(keyFile: key, keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
    var otherTeam = token
    otherTeam.teamID = "OTHERTEAM1"
    let channels = try AppChannels.make([
      "a": try certificateApp(identity), "b": try certificateApp(identity), "c": app(.token(token)),
      "d": app(.token(token), topic: "com.example.sport"), "e": app(.token(otherTeam)),
    ])
    expect(channels["a"]?.services[0].credential === channels["b"]?.services[0].credential)
    expect(channels["c"]?.services[0].credential === channels["d"]?.services[0].credential)
    // A connection belongs to one team. So another team has its own credential, and therefore its own pool.
    expect(channels["c"]?.services[0].credential !== channels["e"]?.services[0].credential)
  }

  @Test func certificateMustBeForTheAppAndItsEnvironment() throws {
    let other = try certificateApp(authority.issue(topic: "com.example.other"))
    let error = #expect(throws: ServiceError.self) { try AppChannels.make(["news": other]) }
    expect(error?.code, is: .configuration)
    expect(error?.message.contains("apps.news.apns.certificate: "), is: true)
    expect(error?.message.contains("is for com.example.other, not for com.example.news"), is: true)
    let sandbox = try certificateApp(authority.issue(topic: "com.example.news", environments: [.sandbox]))
    let wrong = #expect(throws: ServiceError.self) { try AppChannels.make(["news": sandbox]) }
    expect(wrong?.message.contains("is not for production"), is: true)
    expect(wrong?.hint?.contains("set apps.news.apns.environment to sandbox"), is: true)
  }

  @Test func fileWithoutACertificatePreventsTheStart() throws {
    let path = try folder.writeSecret("push.p12", "hello")
    let error = #expect(throws: ServiceError.self) {
      try AppChannels.make(["news": app(.certificate(.init(file: path)))])
    }
    expect(error?.message, is: "apps.news.apns.certificate.file: \(path): is neither PKCS#12 nor PEM")
    let missing = #expect(throws: ServiceError.self) {
      try AppChannels.make(["news": app(.certificate(.init(file: path, passphraseFile: "/nowhere")))])
    }
    expect(missing?.message, is: "apps.news.apns.certificate.passphraseFile: /nowhere: No such file or directory")
  }

  @Test func changedCertificateIsTakenAndABadOneIsNot() async throws {
    let news = try certificateApp(authority.issue(topic: "com.example.news"))
    let (watcher, channels, reports) = try watch(["news": news])
    let credential = try certificate(channels["news"])
    let first = credential.authorization()
    await watcher.check(now: now)
    await watcher.check(now: now)
    expect(reports.take(), is: [])
    expect(credential.authorization(), is: first)

    credential.record(.refused(Reason.badCertificate.code, generation: try #require(first).generation))
    let second = try authority.issue(topic: "com.example.news")
    _ = try certificateApp(second)
    await watcher.check(now: now)
    expect(reports.take(), is: [.reloaded(app: "news")])
    expect(credential.authorization()?.identity, is: second)

    try folder.writeSecret("push.pem", "half a file")
    await watcher.check(now: now)
    await watcher.check(now: now)
    let notices = reports.take()
    expect(notices.count, is: 1)
    guard case .unusable("news", let message, _)? = notices.first else {
      Issue.record("\(notices)")
      return
    }
    expect(message.contains("neither PKCS#12 nor PEM"))
    expect(credential.authorization()?.identity, is: second)

    // The watcher also refuses a certificate of another app.
    _ = try certificateApp(authority.issue(topic: "com.example.other"))
    await watcher.check(now: now)
    guard case .unusable("news", _, _)? = reports.take().first else {
      Issue.record("taken")
      return
    }
    expect(credential.authorization()?.identity, is: second)
  }

  @Test func correctedPermissionsAreNoticed() async throws {
    let news = try certificateApp(authority.issue(topic: "com.example.news"))
    let (watcher, _, reports) = try watch(["news": news])
    await watcher.check(now: now)
    for (mode, count) in [(0o644, 1), (0o600, 1)] {
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder.path("push.pem"))
      await watcher.check(now: now)
      let notices = reports.take()
      expect(notices.count, is: count)
      if mode == 0o600 { expect(notices, is: [.reloaded(app: "news")]) }
    }
  }

  @Test func changedPassphraseOpensTheFileThatFollows() async throws {
    let identity = try authority.issue(topic: "com.example.news")
    try folder.writeSecret("one.pem", identity.certificateChainPEM + identity.privateKeyPEM)
    try folder.writeSecret("pass", "first\n")
    func export() async throws {
      let output = try await ChildProcess.run(
        "openssl", ["pkcs12", "-export", "-in", "one.pem", "-out", "push.p12", "-passout", "file:pass"],
        folder: folder.url)
      expect(output.exit, is: .status(0), "\(output.standardError)")
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.path("push.p12"))
    }
    try await export()
    let files = APNsSettings.Certificate(
      file: folder.path("push.p12"), passphraseFile: folder.path("pass"))
    let (watcher, _, reports) = try watch(["news": app(.certificate(files))])
    await watcher.check(now: now)
    expect(reports.take(), is: [])
    try folder.writeSecret("pass", "second\n")
    await watcher.check(now: now)
    guard case .unusable("news", let message, _)? = reports.take().first else {
      Issue.record("opened with the wrong passphrase")
      return
    }
    expect(message.contains("the passphrase is wrong"))
    try await export()
    await watcher.check(now: now)
    expect(reports.take(), is: [.reloaded(app: "news")])
  }

  @Test func changedSigningKeySignsTheNextToken() async throws {
    let path = try folder.writeSecret("key.p8", ECPrivateKey.generate().pem)
    let token = APNsSettings.Token(keyFile: path, keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
    let (watcher, channels, reports) = try watch(["news": app(.token(token))])
    let source = try #require(channels["news"]?.services[0].credential as? ProviderTokenSource)
    await watcher.check(now: now)
    let first = try #require(source.current())
    source.record(.refused(Reason.invalidProviderToken.code, generation: first.generation))
    try folder.writeSecret("key.p8", ECPrivateKey.generate().pem)
    await watcher.check(now: now)
    expect(reports.take(), is: [.reloaded(app: "news")])
    let second = try #require(source.current())
    expect(second.jwt.split(separator: ".").last != first.jwt.split(separator: ".").last)
    // Kubernetes replaces the target of a symbolic link.
    try FileManager.default.removeItem(atPath: path)
    let other = try folder.writeSecret("other.p8", ECPrivateKey.generate().pem)
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: other)
    await watcher.check(now: now)
    expect(reports.take(), is: [.reloaded(app: "news")])
  }

  @Test func expiryIsReportedDailyFromThirtyDaysBefore() async throws {
    let identity = try authority.issue(topic: "com.example.news", validity: -3600..<100 * 86_400)
    let (watcher, channels, reports) = try watch(["news": try certificateApp(identity)])
    let end = try certificate(channels["news"]).certificate.validity.upperBound
    let day: Int64 = 86_400
    let name = "Apple Push Services: com.example.news"
    await watcher.check(now: end - 30 * day)
    expect(reports.take(), is: [])
    await watcher.check(now: end - 30 * day + 1)
    expect(reports.take(), is: [.expiring(app: "news", certificate: name, days: 29)])
    await watcher.check(now: end - 29 * day)
    expect(reports.take(), is: [])
    await watcher.check(now: end - 29 * day + 1)
    expect(reports.take(), is: [.expiring(app: "news", certificate: name, days: 28)])
    await watcher.check(now: end - 60)
    expect(reports.take(), is: [.expiring(app: "news", certificate: name, days: 0)])
    // The watcher reports the expiry immediately, and then daily.
    await watcher.check(now: end + 1)
    expect(reports.take(), is: [.expired(app: "news", certificate: name)])
    await watcher.check(now: end + day)
    expect(reports.take(), is: [])
    await watcher.check(now: end + day + 1)
    expect(reports.take(), is: [.expired(app: "news", certificate: name)])
  }

  @Test func aRunningWorkerWarnsAndTakesTheExchangedFile() async throws {
    var world = try await CarillonWorld()
    let ending = try authority.issue(topic: "com.example.news", validity: -3600..<10 * 86_400 + 7200)
    func write(_ identity: TLSIdentity) throws {
      // The file gets its name by `rename(2)`, so that no program reads an incomplete file.
      try folder.writeSecret("new", identity.certificateChainPEM + identity.privateKeyPEM)
      expect(rename(folder.path("new"), folder.path("push.pem")), is: 0)
    }
    try write(ending)
    world.environment["CARILLON_CONFIG"] = try folder.write(
      "carillon.yaml",
      """
      apps:
        news:
          apns:
            topic: com.example.news
            certificate: { file: push.pem }
      """)
    let worker = try await world.start("worker", "--json")
    let warning = try #require(await worker.errorLine(containing: #""event":"certificateExpiring""#))
    expect(warning.contains(#""days":10"#))
    expect(warning.contains("Apple Push Services: com.example.news"))
    try write(authority.issue(topic: "com.example.news"))
    _ = try #require(await worker.errorLine(containing: #""event":"credentialReloaded""#))
    expect(await worker.terminate(), is: .status(0))
  }

  @Test func missingLegacyProviderIsNamedWithWhatToInstall() async throws {
    let identity = try authority.issue(topic: "com.example.news")
    try folder.writeSecret("one.pem", identity.certificateChainPEM + identity.privateKeyPEM)
    try folder.writeSecret("pass", "keychain\n")
    let made = try await ChildProcess.run(
      "openssl", ["pkcs12", "-export", "-legacy", "-in", "one.pem", "-out", "push.p12", "-passout", "file:pass"],
      folder: folder.url)
    expect(made.exit, is: .status(0), "\(made.standardError)")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.path("push.p12"))
    let configuration = try folder.write(
      "carillon.yaml",
      """
      apps:
        news:
          apns:
            topic: com.example.news
            certificate: { file: push.p12, passphraseFile: pass }
            endpoint: https://127.0.0.1:9
      """)
    func send(_ environment: [String: String]) async throws -> ChildProcess.Output {
      try await CarillonCommand.run(
        ["--config", configuration, "send", "--app", "news", "--token", "00ff", #"{"aps":{"alert":"hi"}}"#],
        environment: environment)
    }
    // OPENSSL_MODULES is the folder of OpenSSL's providers (OSSL_PROVIDER(3)).
    let without = try await send(["OPENSSL_MODULES": folder.path("nowhere")])
    expect(without.exit, is: .status(65))
    expect(without.standardError.contains("apps.news.apns.certificate.file: "))
    expect(without.standardError.contains("OpenSSL's legacy provider is not installed"))
    expect(without.standardError.contains("openssl-provider-legacy"))
    // With the provider, the program reads the file and then tries to connect to a port without a listener.
    let with = try await send([:])
    expect(with.exit, is: .status(69), "\(with.standardError)")
    expect(!with.standardOutput.contains("authorization"))
  }
}
