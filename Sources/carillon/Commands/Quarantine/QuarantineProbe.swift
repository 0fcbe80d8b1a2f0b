import APNs
import ArgumentParser
import CampaignStore
import CommandSupport
import Foundation
import PushCore
import PushTransport
import PushWorker
import ServiceTools

extension QuarantineCommand {
  /// The command `carillon quarantine probe`.
  struct Probe: AuditedCommand {
    static let configuration = CommandConfiguration(
      commandName: "probe",
      abstract: "Send a test push to a few bad tokens, to check if they are tokens of APNs' other environment.",
      discussion: """
        APNs' production environment rejects tokens of a development build, and the sandbox rejects tokens of an App \
        Store build. The test push is not visible to the user (background, priority 1, expiration 0). It reaches a \
        user's device, so the command asks for confirmation unless --yes is given.

        If no device in quarantine matches, --campaign selects tokens that APNs rejected before the guard paused the \
        campaign. The command writes nothing to Redis and changes nothing. The last line recommends an action. Exits \
        with 0 if the answers show to which environment the tokens belong, else with 1.

        Examples:
          carillon quarantine probe --campaign spring-sale
          carillon quarantine probe --app news --count 5 --yes
        """)

    /// Allowed numbers of test pushes. More than ten would give no further information.
    static let counts = 1...10

    static let effect = Effect.unrecorded

    @OptionGroup var global: GlobalOptions
    @OptionGroup var selection: Selection
    @Option(help: "The number of devices that get a push, 1 to 10.") var count = 3
    @Option(help: "The URL of the other environment, https://host:port, for a simulator or a proxy.")
    var endpoint: String?
    @Flag(help: "Don't ask for confirmation.") var yes = false

    func validate() throws {
      guard Self.counts.contains(count) else { throw ValidationError("--count must be from 1 to 10.") }
      if let endpoint, EndpointAddress(url: endpoint) == nil {
        throw ValidationError("--endpoint: not an address such as https://127.0.0.1:2197.")
      }
    }

    func run() async throws {
      let configuration = try global.loadConfiguration()
      let store = try await StoreConnection(configuration.redis).open(creating: false, changing: true)
      let candidates = try await candidates(store, configuration)
      guard let app = candidates.first?.app else {
        throw CommandError(
          .failed, "nothing to probe: no selected token has the reason BadDeviceToken",
          hint: "list the quarantine: carillon quarantine list; use --campaign for a campaign that the guard paused")
      }
      try configuration.checkApp(app)
      guard let configured = configuration.apps[app] else { throw CommandError(.defect, "no app \(app)") }
      guard let service = configured["apns"], let settings = service.settings as? APNsSettings else {
        throw CommandError(
          .usage, "app \(app) does not use APNs, and no other push service has two environments",
          hint: "choose an app that uses APNs")
      }
      let pushes = try makePushes(
        to: candidates.filter { $0.app == app }, of: configured, service, settings, named: app)
      guard let first = pushes.first else { throw CommandError(.defect, "no push for app \(app)") }
      try confirm(pushes.count, app: app, at: first.push.channel.endpoint.url)
      var report = QuarantineProbeReport(
        app: app, campaign: selection.campaign, configured: settings.environment, asked: settings.environment.other)
      for (token, push) in pushes {
        let answer = try await push.send().response
        report.answers.append(.init(token: token, status: answer.status, reason: answer.reason))
        // After a 403, the service would refuse the next token too.
        if answer.status == 403 { break }
      }
      try StandardOutput.printLine(global.json ? report.json : report.text)
      if !report.verdict.isKnown { throw ExitCode(CommandError.Code.failed.exitStatus) }
    }

    // MARK: Tokens

    private struct Candidate {
      var token: DeviceToken
      var app: String
    }

    /// Returns at most `count` tokens that the service refused as bad.
    private func candidates(
      _ store: CampaignStore, _ configuration: CarillonConfiguration
    ) async throws -> [Candidate] {
      var found: [Candidate] = []
      try await selection.forEachPage(store, configuration) { page in
        found += page.filter { $0.reason == Reason.badDeviceToken.name }.map { Candidate(token: $0.token, app: $0.app) }
        return found.count < count
      }
      if found.isEmpty, let id = selection.campaign {
        guard let campaign = try await store.campaigns.find(id) else {
          throw try await CampaignLookup(store).notFound(id)
        }
        if campaign.app == selection.app ?? campaign.app {
          // The guard holds back the answers about these targets: their pushes were sent, but their outcomes are not
          // recorded.
          try await store.results.forEachResult(of: id) { page in
            found += page.filter { $0.outcome == nil && $0.reason == Reason.badDeviceToken.name }
              .compactMap { result in result.token.map { Candidate(token: $0, app: campaign.app) } }
            return found.count < count
          }
        }
      }
      return Array(found.prefix(count))
    }

    // MARK: Pushes

    private func makePushes(
      to candidates: [Candidate], of app: CarillonConfiguration.App, _ service: CarillonConfiguration.AppService,
      _ settings: APNsSettings, named name: String
    ) throws -> [(token: DeviceToken, push: SinglePush)] {
      let tools = service.tools
      var other = service
      other.configured = ConfiguredService(
        tools, try settings.inOtherEnvironment(at: endpoint.flatMap { EndpointAddress(url: $0) }))
      var flipped = app
      flipped.services = [other]
      guard let channel = try AppChannels.make([name: flipped])[name]?.services.first else {
        throw CommandError(.defect, "no channel for app \(name)")
      }
      let (service, now) = (settings.service, Int(Date.now.timeIntervalSince1970))
      return try candidates.map { candidate in
        let draft = SinglePushDraft(
          name: "probe", app: name, token: candidate.token, payload: Array(#"{"aps":{"content-available":1}}"#.utf8),
          pushType: PushType.background.rawValue, priority: 1, expiration: "0")
        let (campaign, findings) = try draft.examine(by: service, now: now)
        if let first = findings.first(where: { $0.rule.severity == .error }) {
          throw CommandError(
            .configuration, "app \(name) can't get a push that shows nothing: \(first.message)",
            hint: "send a visible push: carillon send --help")
        }
        let push = try draft.push(
          campaign, by: service, of: tools, through: channel, now: now, id: UUID().uuidString.lowercased())
        return (candidate.token, push)
      }
    }

    // MARK: Confirmation

    private func confirm(_ count: Int, app: String, at url: String) throws {
      let number = count == 1 ? "1 push" : "\(count) pushes"
      try Confirmation.obtain(
        yes, for: "this sends \(number) for app \(app) to \(url)",
        detail: ", to devices of users:\nbackground, priority 1, expiration 0; they show nothing",
        refusal: "nothing was sent")
    }
  }
}
