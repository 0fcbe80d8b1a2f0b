import ArgumentParser
import CampaignStore
import CommandSupport
import Foundation
import PushCore
import PushTransport
import PushWorker
import ServiceTools

/// The command `carillon doctor`.
struct DoctorCommand: AuditedCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Check the configuration, Redis, credentials and push services, and print how to fix problems.",
    discussion: """
      Checks the configuration, Redis and its content, credentials, the connection to each push service, this machine \
      and versions. The command sends no push and changes no data. A line with an exclamation mark is a problem, and \
      the line below it is a hint. Exits with 1 if the command finds a problem, else with 0.

      Examples:
        carillon doctor
        carillon doctor --role producer --json | jq -r '.findings[] | select(.level == "problem") | .hint'
      """)

  static let effect = Effect.reads

  @OptionGroup var global: GlobalOptions
  @Option(help: "Check the permissions of the Redis user for this role: worker, admin, reader or producer.")
  var role = AccessRole.worker

  func run() async throws {
    let report = await Doctor(global: global, role: role).report()
    try StandardOutput.printLine(global.json ? report.json : report.text)
    if !report.isHealthy { throw ExitCode(CommandError.Code.failed.exitStatus) }
  }
}

/// Runs all checks of `carillon doctor`.
struct Doctor {
  let global: GlobalOptions
  var role = AccessRole.worker

  func report() async -> DoctorReport {
    var report = DoctorReport()
    let configuration: CarillonConfiguration
    do {
      configuration = try global.loadConfiguration()
    } catch {
      report.add([.problem(.configuration, "", error)])
      return report
    }
    report.add(Self.configuration(configuration, ProcessInfo.processInfo.environment))
    report.add(QuotaRules.findings(configuration.apps))
    let now = Int64(Date().timeIntervalSince1970)
    let apps = configuration.apps.sorted { $0.key < $1.key }
    for (name, app) in apps { report.add(CredentialRules.findings(name, app, now: now)) }
    async let redis = RedisCheck(configuration: configuration.redis, role: role).findings()
    let endpoints = Self.endpoints(configuration)
    report.add(endpoints.findings)
    for check in endpoints.checks { report.add(await check.findings()) }
    for check in TokenCheck.all(configuration) { report.add(await check.findings()) }
    for (name, app) in apps {
      if let backend = app.backend { report.add([BackendRules.finding(name, backend, await backend.check.run())]) }
    }
    report.add(await redis)
    let zones = configuration.worker.zoneinfo.map { ZoneDatabase(folder: $0) } ?? .system
    report.add(MachineRules.findings(.current(zones: zones), engine: configuration.worker.engine))
    return report
  }

  /// Returns the findings about the configuration, the environment variables and the credential files.
  private static func configuration(
    _ configuration: CarillonConfiguration, _ environment: [String: String]
  ) -> [DoctorFinding] {
    let count = configuration.apps.count
    var findings: [DoctorFinding] = [
      .healthy(.configuration, "", "\(count) app\(count == 1 ? "" : "s"), all keys are known")
    ]
    if let channels = try? AppChannels.make(configuration.apps) {
      do {
        try EnvironmentProxy.check(channels, engine: configuration.worker.engine, environment: environment)
      } catch {
        findings.append(.problem(.configuration, "", error))
      }
    }
    return findings
  }

  /// Returns each endpoint of a push service once, with the apps that use it, and a finding for each app whose endpoint
  /// is invalid.
  private static func endpoints(
    _ configuration: CarillonConfiguration
  ) -> (checks: [NetworkCheck], findings: [DoctorFinding]) {
    var order: [NetworkCheck] = []
    var findings: [DoctorFinding] = []
    for (name, app) in configuration.apps.sorted(by: { $0.key < $1.key }) {
      for service in app.services {
        let endpoint: PushEndpoint
        do {
          endpoint = try AppChannels.endpoint(of: service, app: name)
        } catch {
          findings.append(.problem(.network, name, error))
          continue
        }
        if let index = order.firstIndex(where: { $0.endpoint == endpoint }) {
          order[index].apps.append(name)
        } else {
          order.append(NetworkCheck(apps: [name], endpoint: endpoint, tools: service.tools))
        }
      }
    }
    return (order, findings)
  }
}
