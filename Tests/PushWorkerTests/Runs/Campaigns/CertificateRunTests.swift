import PushTransport
import APNs
import APNsSimulator
import CampaignStore
import PushCore
import PushWorker
import TLS
import TestKit
import TestSupport
import Testing

/// Campaigns of an app with a push certificate.
@Suite(.takesTurns) struct CertificateRunTests {
  private let authority: PushCertificateAuthority

  init() throws { authority = try PushCertificateAuthority() }

  /// Creates a rig whose app has a certificate.
  private func makeRig(_ engine: PushEngineKind, _ identity: TLSIdentity) async throws -> (WorkerRig, ClientCertificate)
  {
    let pem = authority.authorityPEM
    var rig = try await WorkerRig(engine: engine) { $0.clientAuthorityPEM = pem }
    let credential = try ClientCertificate(identity)
    rig.channel.services[0].credential = credential
    return (rig, credential)
  }

  @Test(arguments: PushEngineKind.one(for: "campaignGoesOutWithACertificate"))
  func campaignGoesOutWithACertificate(engine: PushEngineKind) async throws {
    let (rig, _) = try await makeRig(engine, authority.issue(topic: WorkerRig.topic))
    try await rig.register(300)
    try await rig.submit("with-certificate")
    try await rig.worker("w").run()
    let record = try #require(try await rig.store.campaigns.show("with-certificate"))
    expect(record.state, is: .completed)
    expect(record.counters.outcomes[.accepted], is: 300)
    expect(await rig.simulator.counters().accepted, is: 300)
  }

  @Test(
    arguments: TestForm.pairs(
      PushEngineKind.allCases,
      [
        (
          environments: Set([SimulatorEnvironment.production]), validity: -7200 ..< -3600,
          says: "the certificate has expired"
        ),
        (Set([SimulatorEnvironment.sandbox]), -3600..<86_400, "it is not for this environment"),
      ]))
  func refusedCertificatePausesItsCampaigns(
    engine: PushEngineKind, refusal: (environments: Set<SimulatorEnvironment>, validity: Range<Int>, says: String)
  ) async throws {
    let (rig, credential) = try await makeRig(
      engine, authority.issue(topic: WorkerRig.topic, environments: refusal.environments, validity: refusal.validity))
    try await rig.register(300)
    let ids = ["first", "second"]
    for id in ids { try await rig.submit(id) }
    let worker = rig.worker("w", drains: false)
    async let running: Void = worker.run()
    for id in ids { try await rig.until { try await rig.store.campaigns.show(id)?.state == .paused } }
    for id in ids {
      let record = try #require(try await rig.store.campaigns.show(id))
      expect(record.reason?.contains("APNs refuses the credential of app news"), is: true)
      expect(record.reason?.contains(refusal.says), is: true, "\(record.reason ?? "")")
      expect(record.counters.outcomes.isEmpty)
    }
    expect(await rig.simulator.counters().received, is: 0)
    expect(credential.stopped != nil)

    // The certificate is renewed and the campaigns are resumed. Each user gets the push once.
    try credential.replace(authority.issue(topic: WorkerRig.topic))
    for id in ids { try await rig.store.campaigns.control(id, .resume) }
    for id in ids { try await rig.until { try await rig.store.campaigns.show(id)?.state == .completed } }
    await worker.stop()
    try await running
    for id in ids { expect(try await rig.store.campaigns.show(id)?.counters.outcomes[.accepted], is: 300) }
    expect(await rig.simulator.counters().received, is: 600)
  }
}
