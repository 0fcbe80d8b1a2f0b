import Admin
import ArgumentParser
import CampaignStore
import CommandSupport
import EventLoop
import Glibc
import HTTPServer
import Logging
import PushCore

/// The default subcommand of `carillon admin`: runs the HTTP server with the API and the dashboard.
struct AdminServe: LongRunningCommand, AuditedCommand {
  static let signals = ProcessSignals.stops + [SIGHUP]
  static let configuration = CommandConfiguration(
    commandName: "serve", abstract: "Serve the API, the dashboard and the fleet's metrics until SIGTERM.",
    discussion: """
      The dashboard is at /, the API below /api/v1 (described at /api/v1/openapi.json), metrics at /metrics. A request \
      to the API needs a token: carillon admin token NAME --scope view creates one. Without admin.tokenFile, the \
      server accepts connections only from this machine. For access from the internet, put a proxy in front. The \
      server reads the configuration again on SIGHUP and when its file changes. On SIGTERM or SIGINT it answers the \
      requests in progress, and ends within \(longestStop) s.

      Examples:
        carillon admin                                  # at the address admin.listen (default: 127.0.0.1:8080)
        carillon admin --listen 127.0.0.1:0 --json      # at a free port; the log contains it
      """)

  /// Time in seconds from the first stop signal until the process of a hanging server is ended. A normal stop takes at
  /// most 15 s: 5 s for requests in progress, and 10 s more for their tasks to end.
  private static let longestStop = 20

  static let effect = Effect.unrecorded

  @OptionGroup var global: GlobalOptions
  @OptionGroup var endpoint: ListenOption

  func run() async throws {
    limitStop(
      to: Self.longestStop, "the server did not stop within \(Self.longestStop) s, so the process ends now",
      hint: "a command of a request in progress may have taken effect without an answer")
    let signals = ProcessSignals(ProcessSignals.stops)
    let configuration = try global.loadConfiguration()
    let standard = CarillonConfiguration.Admin.standard
    guard let listen = try endpoint.address(configuration, standard: standard) else {
      throw CommandError(.defect, "the default address \(standard) of carillon admin is invalid")
    }
    let loop = EventLoop(label: "admin")
    let stores = try APIStore(configuration.redis, on: loop)
    let pools = APIPools()
    let liveness = Liveness([
      .executor(within: Liveness.Part.turnLimit), .loopCheck("the Redis driver's event loop", of: loop),
    ])
    let served = try AdminEndpoint(
      configuration.admin, at: listen, Self.routes(configuration, stores, pools, liveness), asksForTokens: true)
    let report: @Sendable (ConfigurationReload.Notice) -> Void = { notice in
      let line = notice.line
      Logger(label: "admin").log(
        level: line.level, "\(line.text)",
        metadata: line.more.merging([LineLogHandler.eventKey: "\(line.event)"]) { $1 })
    }
    let reload = ConfigurationReload(configuration, loader: global.configurationLoader, report: report)
    let reloading = Task {
      await reload.run { _ in
        served.replace(Self.routes(await reload.current, stores, pools, liveness))
        report(.applied)
      }
    }
    FaultEnvironment.block(loop: loop, redis: loop)
    for await _ in signals.numbers { break }
    reloading.cancel()
    await served.stop()
    await stores.close()
  }

  private static func routes(
    _ configuration: CarillonConfiguration, _ stores: APIStore, _ pools: APIPools, _ liveness: Liveness
  ) -> [Route] {
    API(configuration, stores, pools).operations.map(\.route) + [PageRoute.route, liveness.route] + health(of: stores)
  }

  /// Returns the routes for the readiness check and for the fleet's metrics.
  private static func health(of stores: APIStore) -> [Route] {
    [
      .probe("/readyz") { _ in
        do {
          _ = try await stores.snapshot()
          return .json(#"{"ready":true,"checks":[{"name":"redis","ok":true,"reason":null}]}"#)
        } catch {
          return .object(status: 503) { json in
            json.member("ready", false)
            json.objects("checks", [CommandError(error)]) { json, error in
              json.member("name", "redis")
              json.member("ok", false)
              json.member("reason", Excerpt.harmless(error.message))
            }
          }
        }
      },
      .probe("/metrics") { _ in
        var metrics = Exposition()
        if let fleet = try? await stores.snapshot() {
          FleetExposition(fleet, WantedWorkers(fleet)).write(to: &metrics)
        } else {
          FleetExposition.writeAbsence(to: &metrics)
        }
        ProcessUsage.write(to: &metrics, droppedLogLines: StandardError.dropped)
        return .init(200, metrics.text, type: Exposition.type)
      },
    ]
  }
}
