import CampaignStore
import CommandSupport
import Foundation
import Logging
import PushCore

/// The person or program that made a change, as the audit log names it.
struct Actor {
  var name: String

  /// The user who runs this command.
  static var commandLine: Actor {
    let user = ProcessInfo.processInfo.userName
    return Actor(name: "cli:\(user)@\(ProcessInfo.processInfo.hostName)")
  }
}

/// Writes the audit entries for changes that commands and the API make.
struct AuditTrail {
  let store: CampaignStore

  init(_ store: CampaignStore) {
    self.store = store
  }

  /// Records a change that was made. A failure is logged and not thrown, because the change can't be undone.
  func record(_ actor: Actor, _ action: AuditAction, _ subject: String, detail: String = "") async {
    do {
      try await store.results.audit(actor.name, action.rawValue, subject, detail: detail)
    } catch {
      Logger(label: "audit").warning(
        "could not record a change in the audit log: \(CommandError(error).message)",
        metadata: [LineLogHandler.eventKey: "auditFailed", "actor": "\(actor.name)", "action": "\(action.rawValue)"])
    }
  }

  /// Records a submitted campaign. A Redis user with the role of a producer has no permission to write the audit log,
  /// so its submissions are not recorded.
  func record(submitted campaign: Campaign, by actor: Actor) async {
    // Without this check, Redis would list each refused command in ACL LOG.
    if let missing = try? await store.fleet.missingRights(of: .admin), !missing.isEmpty { return }
    await record(actor, .campaignSubmit, campaign.id, detail: campaign.app)
  }

  /// Records a pause, a resume or a cancel of a campaign.
  func record(_ verb: ControlVerb, on id: String, detail: String, by actor: Actor) async {
    guard let action = AuditAction(verb) else { return }
    await record(actor, action, id, detail: detail)
  }

  /// Records a change of entries of the dead list.
  func record(_ action: AuditAction, dead keys: [String], by actor: Actor) async {
    guard let first = keys.first else { return }
    await record(actor, action, first, detail: keys.count == 1 ? "" : "\(keys.count) jobs")
  }

  /// Records a change of devices in quarantine.
  func record(
    _ action: AuditAction, app: String?, campaign: String?, isAll: Bool, _ devices: Int, by actor: Actor
  ) async {
    await record(
      actor, action, campaign ?? app ?? (isAll ? "all" : ""), detail: "\(devices) devices")
  }

  /// Records the erasure of a user, with the number of erased devices but without the user's id.
  func record(erased: ErasureSummary, by actor: Actor) async {
    await record(
      actor, .userErase, "", detail: erased.isNothing ? "the user had no data" : "\(erased.devices) devices")
  }

  /// Records changes of devices. Like every entry, it contains neither a user's id nor a token.
  func record(_ action: AuditAction, devices: Int, of app: String?, by actor: Actor) async {
    await record(actor, action, app ?? "", detail: devices == 1 ? "1 device" : "\(devices) devices")
  }
}

extension AuditAction {
  /// Creates the action of a control verb; `nil` for the start of a stage: only workers start stages.
  init?(_ verb: ControlVerb) { self.init(rawValue: "campaign.\(verb.rawValue)") }
}
