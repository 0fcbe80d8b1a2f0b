import CampaignStore
import CommandSupport
import Foundation
import PushWorker
import Redis

/// Looks at Redis, and at what stands there. It writes nothing.
struct RedisExamination {
  let configuration: CarillonConfiguration.Redis
  let role: AccessRole

  func findings() async -> [DoctorFinding] {
    do {
      let connection = try StoreConnection(configuration)
      let store = connection.store(for: "carillon doctor")
      defer { Task { await store.close() } }
      return try await findings(store)
    } catch {
      return [.problem(.redis, "", error)]
    }
  }

  private func findings(_ unopened: CampaignStore) async throws -> [DoctorFinding] {
    var findings: [DoctorFinding] = []
    var fleet = try await unopened.fleet.snapshot(lease: WorkerConfiguration.standardLease)
    findings += fleet.nodes.flatMap(RedisRules.findings)
    findings +=
      try await attempt { try await unopened.fleet.paces { Int(Date().timeIntervalSince1970 * 1000) } }?
      .flatMap(RedisRules.findings) ?? []
    if fleet.nodes.contains(where: \.info.isCluster) {
      findings += RedisRules.findings(openSlots: try await unopened.fleet.openSlots())
    }
    findings += try await rights(unopened)
    findings += await keys(unopened, fleet)
    // They were told of with the rights.
    fleet.problems.removeAll { $0.code == .forbidden }
    findings += fleet.problems.map { .problem(.keys, "", $0.message, cure: $0.hint) }
    findings += VersionRules.findings(own: Carillon.version, fleet: fleet.versions, live: fleet.presence.live)
    return findings
  }

  private func rights(_ store: CampaignStore) async throws -> [DoctorFinding] {
    do {
      return RedisRules.findings(missing: try await store.fleet.missingRights(of: role), of: role)
    } catch let error as StoreError where error.code == .forbidden {
      return [.problem(.redis, "", error.message, cure: error.hint)]
    }
  }

  /// The store, as far as counts and types tell.
  private func keys(_ unopened: CampaignStore, _ fleet: FleetSnapshot) async -> [DoctorFinding] {
    guard let partitions = fleet.store.partitions else {
      return [
        .well(
          .keys, "", "there is no store under namespace \(configuration.namespace) yet: a worker or an import makes it")
      ]
    }
    do {
      if let own = configuration.partitions, own != partitions {
        return [
          .problem(
            .keys, "", "the store has \(partitions) partitions, and redis.partitions says \(own): no worker starts",
            cure: "take redis.partitions out, or set it to \(partitions); carillon store repartition changes the store")
        ]
      }
      let store = try await unopened.open(creating: false, adopting: true, holding: true)
      let (found, users) = try await store.repair.quickCheck()
      var findings: [DoctorFinding] = found.prefix(20).map {
        .problem(.keys, $0.key, $0.problem, cure: $0.remedy)
      }
      if let next = fleet.store.nextPartitions {
        findings.append(
          .advice(
            .keys, "", "the store is being given \(next) partitions: no campaign begins",
            cure: "wait; if nobody is at it any more, run carillon store repartition \(next)"))
      }
      if found.isEmpty {
        findings.append(
          .well(.keys, "", "\(partitions) partitions, types and counts agree (all: carillon store check)"))
      }
      return findings + RedisRules.findings(usersOfPartition: users, partitions: partitions)
    } catch let error as StoreError where error.code == .forbidden {
      return [.advice(.keys, "", error.message, cure: error.hint)]
    } catch {
      return [.problem(.keys, "", error)]
    }
  }

  private func attempt<Value>(_ body: () async throws -> Value) async throws -> Value? {
    do { return try await body() } catch is StoreError { return nil }
  }
}
