import APNs
import CampaignStore
import PushCore
import PushTransport
import PushWorker
import TestKit
import TestSupport
import Testing

/// Campaigns without targets. They report the reason.
struct ReachedNoUserTests {
  @Test func oneWorkerWarnsOfEachCampaignWithoutTargets() async throws {
    let rig = try await WorkerRig(engine: .native, users: 3)
    var device = DeviceRecord(token: WorkerRig.token(9), service: "apns")
    device.app = "shop"
    try await rig.store.registry.register([DeviceRegistration(user: "buyer", device: device)])
    try await rig.submit("some", audience: #"{"users":["u1","buyer"]}"#)
    try await rig.submit("none", audience: #"{"users":["buyer","stranger"]}"#)
    try await rig.submit("nobody", audience: #"{"segment":"!*"}"#)
    try await rig.submit(
      "stages", #","stages":[{"users":["buyer"],"wait":"1s"}]"#, audience: #"{"segment":"*","where":"locale = 'sv'"}"#)
    let log = EventLog()
    async let first: Void = rig.worker("a", log: log).run()
    async let second: Void = rig.worker("b", log: log).run()
    _ = try await (first, second)
    let warnings = log.all.filter { $0.contains("reachedNoUser") }
    expect(warnings.count, is: 3, "\(warnings)")
    let reasons = [
      "some": nil, "nobody": "its audience has no user",
      "none": "2 users in its audience: 1 without a device, 1 without a device of this app",
      "stages":
        "4 users in its audience: 1 without a device of this app, 3 filtered out by the condition (where)",
    ]
    for (id, reason) in reasons {
      expect(try await rig.store.campaigns.find(id)?.noUserReason, is: reason, "\(id)")
    }
  }
}
