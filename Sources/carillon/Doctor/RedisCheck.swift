import CampaignStore
import CommandSupport
import Foundation
import PushWorker
import Redis

/// The checks of Redis and of the store. The checks write nothing.
struct RedisCheck {
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
      try await attempt { try await unopened.fleet.serverLatencies { Int(Date().timeIntervalSince1970 * 1000) } }?
      .flatMap(RedisRules.findings) ?? []
    if fleet.nodes.contains(where: \.info.isCluster) {
      findings += RedisRules.findings(openSlots: try await unopened.fleet.openSlots())
    }
    findings += try await rights(unopened)
    findings += await keys(unopened, fleet)
    // The check of permissions has already reported these problems.
    fleet.problems.removeAll { $0.code == .forbidden }
    findings += fleet.problems.map { .problem(.keys, "", $0.message, hint: $0.hint) }
    findings += VersionRules.findings(own: Carillon.version, fleet: fleet.versions, live: fleet.presence.live)
    return findings
  }

  private func rights(_ store: CampaignStore) async throws -> [DoctorFinding] {
    do {
      return RedisRules.findings(missing: try await store.fleet.missingRights(of: role), of: role)
    } catch let error as StoreError where error.code == .forbidden {
      return [.problem(.redis, "", error.message, hint: error.hint)]
    }
  }

  /// Returns the findings about the keys of the store, from their counts and types.
  private func keys(_ unopened: CampaignStore, _ fleet: FleetSnapshot) async -> [DoctorFinding] {
    guard let partitions = fleet.store.partitions else {
      return [
        .healthy(
          .keys, "", "no store under namespace \(configuration.namespace) yet; the first worker or import creates it")
      ]
    }
    do {
      if let own = configuration.partitions, own != partitions {
        return [
          .problem(
            .keys, "", "the store has \(partitions) partitions, but redis.partitions is \(own): no worker can start",
            hint: "remove redis.partitions, or set it to \(partitions); carillon store repartition changes the store")
        ]
      }
      let store = try await unopened.open(creating: false, adopting: true, acceptingLocked: true)
      let (found, users) = try await store.repair.quickCheck()
      var findings: [DoctorFinding] = found.prefix(20).map {
        .problem(.keys, $0.key, $0.problem, hint: $0.hint)
      }
      if let next = fleet.store.nextPartitions {
        findings.append(
          .advice(
            .keys, "", "the store is being repartitioned to \(next) partitions: no campaign starts",
            hint: "wait; if the command was interrupted, run carillon store repartition \(next)"))
      }
      if found.isEmpty {
        findings.append(
          .healthy(
            .keys, "", "\(partitions) partitions; types and counts of keys agree (complete check: carillon store check)"
          ))
      }
      return findings + RedisRules.findings(usersOfPartition: users, partitions: partitions)
    } catch let error as StoreError where error.code == .forbidden {
      return [.advice(.keys, "", error.message, hint: error.hint)]
    } catch {
      return [.problem(.keys, "", error)]
    }
  }

  private func attempt<Value>(_ body: () async throws -> Value) async throws -> Value? {
    do { return try await body() } catch is StoreError { return nil }
  }
}
