import CampaignStore
import CommandSupport
import Foundation
import Logging
import PushCore

/// Who did something.
struct Actor {
  var name: String

  /// Whoever runs this command.
  static var commandLine: Actor {
    let user = ProcessInfo.processInfo.userName
    return Actor(name: "cli:\(user)@\(ProcessInfo.processInfo.hostName)")
  }
}

extension CampaignStore {
  /// Takes note of what was done. It is done: that the note is missing is told of, and no failure.
  func note(_ actor: Actor, _ action: String, _ subject: String, detail: String = "") async {
    do {
      try await results.audit(actor.name, action, subject, detail: detail)
    } catch {
      Logger(label: "audit").warning(
        "could not note who did something: \(CommandError(error).message)",
        metadata: [LineLogHandler.eventKey: "auditFailed", "who": "\(actor.name)", "action": "\(action)"])
    }
  }

  /// Takes note that somebody forgot a user, by command and by the API alike: how much there was, and not whose. The name
  /// would be what is left of the user.
  func note(forgotten: Forgotten, by actor: Actor) async {
    await note(
      actor, "user.forget", "", detail: forgotten.isNothing ? "nothing was there" : "\(forgotten.devices) devices")
  }
}
