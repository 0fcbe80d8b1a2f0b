import CampaignStore
import PushCore
import TestSupport

/// Workers that reach Redis or APNs through a proxy of their own.
struct ProxiedWorkers {
  /// The server behind the proxies.
  enum Way {
    case redis, apns
  }

  struct Member: Sendable {
    var worker: WorkerProcess
    var proxy: TCPProxy
  }

  let members: [Member]

  init(_ world: FaultWorld, size: Int, to way: Way, environment: [String: String] = [:]) async throws {
    var members: [Member] = []
    for number in 1...size {
      let proxy: TCPProxy
      var environment = environment
      switch way {
      case .redis:
        proxy = try await TCPProxy.start(to: world.server.port)
        environment["CARILLON_REDIS_URL"] = "redis://127.0.0.1:\(proxy.port)"
      case .apns:
        proxy = try await TCPProxy.start(to: UInt16(world.simulator.port))
        environment["CARILLON_APPS_NEWS_APNS_ENDPOINT"] = "https://127.0.0.1:\(proxy.port)"
      }
      members.append(Member(worker: try await world.worker("w\(number)", environment: environment), proxy: proxy))
    }
    self.members = members
  }

  /// Returns the sum of a counter over all proxies.
  func sum(_ count: (ProxyCounters) -> Int) async -> Int {
    var sum = 0
    for member in members { sum += count(await member.proxy.counters) }
    return sum
  }

  /// Stops the proxies, and expects that all workers have survived.
  func finish(_ stage: Stage) async {
    for member in members {
      stage.expect(member.worker.process.exit == nil, "\(member.worker.name) is gone: \(member.worker.lastWords)")
      await member.proxy.stop()
    }
  }
}

extension Stage {
  /// Expects that a campaign with `skip` has at most as many unknown targets as the faults can have put in doubt.
  func expect(unknownAtMost doubts: Int, of campaign: FaultCampaign, in world: FaultWorld) async throws {
    let unknown = try await world.store.campaigns.show(campaign.id)?.counters.outcomes[.unknown] ?? 0
    expect(
      unknown <= doubts, "campaign \(campaign.id) has \(unknown) unknown targets; at most \(doubts) can be in doubt")
  }

  /// Both policies for targets in doubt, in turn.
  var ambiguities: [FaultCampaign.Ambiguity] {
    (1...times(short: 1, full: 2)).flatMap { _ in [FaultCampaign.Ambiguity.resend, .skip] }
  }
}
