import PushTransport
import APNs
import ArgumentParser
import CampaignStore
import CommandSupport
import Foundation
import PushCore
import PushWorker

extension QuarantineCommand {
  /// `carillon quarantine probe`.
  struct Probe: CarillonCommand {
    static let configuration = CommandConfiguration(
      abstract: "Finds out whether bad tokens are of APNs' other environment, by a push to a few of them.",
      discussion: """
        Production calls the tokens of a development build bad, and the sandbox those of an app from the store. The \
        push shows nothing: background, priority 1, expiration 0. But it is a push to somebody's device, so you are \
        asked first, or say --yes.

        With --campaign also tokens are taken that its guard held back when it paused the campaign: see \
        carillon campaign show. Nothing is written to Redis, and nothing changes by itself: the last line says what \
        to do. Exits 0 when the environment is known by then, 1 when not.

        Examples:
          carillon quarantine probe --campaign spring-sale
          carillon quarantine probe --app news --count 5 --yes
        """)

    /// More would tell no more, and be a campaign.
    static let counts = 1...10

    @OptionGroup var global: GlobalOptions
    @OptionGroup var selection: Selection
    @Option(help: "Devices that get a push: 1 to 10.") var count = 3
    @Option(help: "The other environment's address, https://host:port: for the simulator or a proxy.")
    var endpoint: String?
    @Flag(help: "Don't ask.") var yes = false

    func validate() throws {
      guard Self.counts.contains(count) else { throw ValidationError("--count is 1 to 10.") }
      if let endpoint, CarillonConfiguration.Endpoint(url: endpoint) == nil {
        throw ValidationError("--endpoint: not an address such as https://127.0.0.1:2197.")
      }
    }

    func run() async throws {
      let configuration = try global.loadConfiguration()
      let store = try await StoreConnection(configuration.redis).open(creating: false, changing: true)
      let candidates = try await candidates(store, configuration)
      guard let app = candidates.first?.app else {
        throw CommandError(
          .failed, "nothing to probe: no such token was called bad (BadDeviceToken)",
          hint: "see what is in quarantine: carillon quarantine list; what a campaign that paused itself held back is "
            + "probed with --campaign")
      }
      try configuration.checkApp(app)
      guard let settings = configuration.apps[app] else { throw CommandError(.defect, "no app \(app)") }
      let pushes = try makePushes(to: candidates.filter { $0.app == app }, of: settings, named: app)
      guard let first = pushes.first else { throw CommandError(.defect, "no push for app \(app)") }
      try confirm(pushes, app: app, at: first.channel.endpoint.url)
      var report = QuarantineProbeReport(
        app: app, campaign: selection.campaign, configured: settings.environment, asked: settings.environment.other)
      for push in pushes {
        let answer = try await push.send().response
        report.answers.append(.init(token: push.token, status: answer.status, reason: answer.reason))
        // It would be refused for the next token too.
        if answer.status == 403 { break }
      }
      try StandardOutput.printLine(global.json ? report.json : report.text)
      if !report.verdict.isKnown { throw ExitCode(CommandError.Code.failed.exitStatus) }
    }

    // MARK: Whom to ask about

    private struct Candidate {
      var token: DeviceToken
      var app: String
    }

    /// Tokens that were called bad, no more than are asked for.
    private func candidates(
      _ store: CampaignStore, _ configuration: CarillonConfiguration
    ) async throws -> [Candidate] {
      var found: [Candidate] = []
      try await selection.forEachPage(store, configuration) { page in
        found += page.filter { $0.reason == Reason.badDeviceToken.name }.map { Candidate(token: $0.token, app: $0.app) }
        return found.count < count
      }
      if found.isEmpty, let id = selection.campaign {
        guard let campaign = try await store.campaigns.find(id) else { throw try await store.whereIs(id) }
        if campaign.app == selection.app ?? campaign.app {
          // Held back: it was sent to, and has no outcome.
          try await store.results.forEachResult(of: id) { page in
            found += page.filter { $0.outcome == nil && $0.reason == Reason.badDeviceToken.name }
              .compactMap { result in result.token.map { Candidate(token: $0, app: campaign.app) } }
            return found.count < count
          }
        }
      }
      return Array(found.prefix(count))
    }

    // MARK: What to send

    private func makePushes(
      to candidates: [Candidate], of app: CarillonConfiguration.App, named name: String
    ) throws -> [SinglePush] {
      let other = app.environment.other
      let credential = try AppChannels.make([name: app])[name]?.credential
      if let certificate = (credential as? ClientCertificate)?.certificate,
        !certificate.covers(PushCertificate.Environment(other))
      {
        throw CommandError(
          .configuration, "apps.\(name).certificate: “\(certificate.name)” is for \(app.environment.rawValue) only",
          hint: "the \(other.rawValue) can be asked with a signing key, or with a certificate of the kind “Sandbox & "
            + "Production”")
      }
      guard app.endpoint == nil || endpoint != nil else {
        throw CommandError(
          .usage, "apps.\(name).endpoint is set: where the \(other.rawValue) is can't be told from it",
          hint: "give its address with --endpoint https://HOST:PORT")
      }
      var flipped = app
      flipped.environment = other
      flipped.endpoint = endpoint.flatMap { CarillonConfiguration.Endpoint(url: $0) }
      guard let channel = try AppChannels.make([name: flipped])[name] else {
        throw CommandError(.defect, "no channel for app \(name)")
      }
      let payload = Array(#"{"aps":{"content-available":1}}"#.utf8)
      let headers = PushHeaders(
        topic: app.traits(named: name).topic(for: .background), pushType: .background, priority: 1, expiration: 0)
      for candidate in candidates { try check(candidate.token, payload, of: app, named: name) }
      return candidates.map {
        SinglePush(channel: channel, headers: headers, token: $0.token, payload: payload, id: UUID())
      }
    }

    /// Whether such a push may be sent for the app at all.
    private func check(
      _ token: DeviceToken, _ payload: [UInt8], of app: CarillonConfiguration.App, named name: String
    ) throws {
      var job = JSONWriter()
      job.beginObject()
      job.member("id", "probe")
      job.member("app", name)
      job.name("audience")
      job.raw(#"{"tokens":["\#(APNsService().text(of: token))"]}"#.utf8)
      job.name("payload")
      job.raw(payload)
      job.member("pushType", PushType.background.rawValue)
      job.member("priority", 1)
      job.member("expiration", "0")
      job.endObject()
      let now = Int(Date.now.timeIntervalSince1970)
      let (_, findings) = try CampaignJob.examine(
        job.bytes, .known([name: APNsService(app.traits(named: name))]), now: now)
      guard let first = findings.first(where: { $0.rule.severity == .error }) else { return }
      throw CommandError(
        .configuration, "app \(name) takes no push that shows nothing: \(first.message)",
        hint: "send one that it takes: carillon send --help")
    }

    // MARK: Asking

    private func confirm(_ pushes: [SinglePush], app: String, at url: String) throws {
      let number = pushes.count == 1 ? "1 push" : "\(pushes.count) pushes"
      try Confirmation.obtain(
        yes, for: "this sends \(number) for app \(app) to \(url)",
        detail: ", to devices of users:\nbackground, priority 1, expiration 0; they show nothing",
        refusal: "nothing was sent")
    }
  }
}

extension PushEnvironment {
  /// The one that this one is mistaken for.
  var other: PushEnvironment { self == .production ? .sandbox : .production }
}
