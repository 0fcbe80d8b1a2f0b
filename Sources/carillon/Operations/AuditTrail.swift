import CampaignStore
import CommandSupport
import Foundation
import Logging
import PushCore

/// Person or program that made a change.
struct Actor {
  var name: String

  /// The user who runs this command.
  static var commandLine: Actor {
    let user = ProcessInfo.processInfo.userName
    return Actor(name: "cli:\(user)@\(ProcessInfo.processInfo.hostName)")
  }
}

/// The audit entries of changes that commands and the API make.
struct AuditTrail {
  let store: CampaignStore

  init(_ store: CampaignStore) {
    self.store = store
  }

  /// Records a change that was made. A failure is logged and not thrown, because the change can't be undone.
  func note(_ actor: Actor, _ action: String, _ subject: String, detail: String = "") async {
    do {
      try await store.results.audit(actor.name, action, subject, detail: detail)
    } catch {
      Logger(label: "audit").warning(
        "could not record a change in the audit log: \(CommandError(error).message)",
        metadata: [LineLogHandler.eventKey: "auditFailed", "actor": "\(actor.name)", "action": "\(action)"])
    }
  }

  /// Records the erasure of a user: how many devices there were, without the user's name.
  func note(erased: ErasureSummary, by actor: Actor) async {
    await note(
      actor, "user.erase", "", detail: erased.isNothing ? "nothing was there" : "\(erased.devices) devices")
  }
}
