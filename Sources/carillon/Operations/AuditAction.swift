import CommandSupport

/// A change that the audit log contains. The raw value is the action's name in the log.
enum AuditAction: String, CaseIterable, Sendable {
  case campaignSubmit = "campaign.submit"
  case campaignValues = "campaign.values"
  case campaignApprove = "campaign.approve"
  case campaignDecide = "campaign.decide"
  case campaignPause = "campaign.pause"
  case campaignResume = "campaign.resume"
  case campaignCancel = "campaign.cancel"

  case segmentAdd = "segment.add"
  case segmentRemove = "segment.remove"
  case segmentImport = "segment.import"
  case segmentReplace = "segment.replace"
  case segmentDefine = "segment.define"
  case segmentDelete = "segment.delete"
  case suppressionAdd = "suppression.add"
  case suppressionRemove = "suppression.remove"
  case suppressionImport = "suppression.import"
  case suppressionReplace = "suppression.replace"

  case deviceImport = "device.import"
  case deviceRegister = "device.register"
  case deviceUnregister = "device.unregister"
  case userErase = "user.erase"
  case quarantineRelease = "quarantine.release"
  case quarantinePurge = "quarantine.purge"

  case templatePut = "template.put"
  case templateRemove = "template.remove"
  case channelCreate = "channel.create"
  case channelDelete = "channel.delete"

  case deadRetry = "dead.retry"
  case deadDrop = "dead.drop"
  case storeRepair = "store.repair"
  case storeRepartition = "store.repartition"
}

/// Effect of a command, or of an operation of the API, on data that other people use.
enum Effect: Sendable, Equatable {
  /// Changes nothing.
  case reads
  /// Leaves an entry in the audit log for each change. The entry has one of these actions.
  case changes([AuditAction])
  /// Leaves no entry in the audit log. Such a command runs a server, writes a file of this machine or sends test
  /// pushes. Such an operation reports an event that apps send in large numbers, which would fill the log.
  case unrecorded
}

/// A command that declares its effect.
protocol AuditedCommand: CarillonCommand {
  static var effect: Effect { get }
}
