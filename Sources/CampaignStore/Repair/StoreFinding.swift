/// An inconsistency of the store: the problem, its place, and a hint.
public struct StoreFinding: Hashable, Sendable {
  /// The violated invariant. Raw values are names in JSON.
  public enum Kind: String, CaseIterable, Sendable {
    // Users
    case userWithoutDevices, userNotListed, attributesWithoutDevices, capCountersWithoutDevices, unreadableRecord,
      misplacedUser
    case quarantinedWithoutReason, reasonWithoutDevice, unnormalizedUser
    // Tokens
    case ownerWithoutDevice, deviceWithoutOwner, deviceWithTwoOwners, misplacedOwner, unreadableOwner,
      unfinishedRegistration
    // Segments
    case misplacedMember, unnormalizedMember, unusableID, unlistedSegment, unreadableDefinition
    // Campaigns
    case wrongList, missingFromList, lostSlice, unlistedWorker, damagedCampaign, wrongTotals
    case missingPart, partWithoutCampaign, wrongPartState
    // Slices
    case lostRetry, retryWithoutTarget, damagedSlice, wrongCounters
    // Keys
    case wrongType, orphan, neverExpires, unknownKey
  }

  /// The state of the finding.
  public enum Standing: String, Sendable {
    /// The problem remains; ``Repair/check(repairing:pause:found:)`` can repair it.
    case repairable
    /// The problem is repaired.
    case repaired
    /// An operator must act.
    case open
  }

  public var kind: Kind
  /// The key with the problem.
  public var key: String
  /// The affected part of the key: a user, a token in hex, a campaign, a partition; empty for the whole key.
  public var subject: String
  /// Details that the kind does not contain; may be empty.
  public var detail: String
  public var standing: Standing

  /// The problem as text.
  public var problem: String { detail.isEmpty ? kind.problem : "\(kind.problem): \(detail)" }

  /// The next step for the operator.
  public var hint: String {
    switch standing {
    case .repaired: "repaired, no action needed"
    case .repairable: "repair it: carillon store check --repair"
    case .open: kind.hint
    }
  }
}

extension StoreFinding.Kind {
  /// The problem in a few words.
  var problem: String {
    switch self {
    case .userWithoutDevices: "the user is listed, but has no device"
    case .userNotListed: "the user has devices, but is not listed"
    case .attributesWithoutDevices: "a user without devices has attributes"
    case .capCountersWithoutDevices: "a user without devices has frequency cap counters"
    case .unreadableRecord: "the user's devices can't be read"
    case .misplacedUser: "the user belongs to another partition"
    case .quarantinedWithoutReason: "a device is in quarantine without a recorded reason"
    case .reasonWithoutDevice: "the quarantine has an entry for a device that is not quarantined"
    case .ownerWithoutDevice: "the token's owner does not have the device"
    case .deviceWithoutOwner: "the device's token has no owner"
    case .deviceWithTwoOwners: "two users have the device"
    case .misplacedOwner: "the token's owner belongs to another partition"
    case .unreadableOwner: "the token's owner can't be read"
    case .unfinishedRegistration: "a registration was started and not completed"
    case .misplacedMember: "a user of the segment belongs to another partition"
    case .unnormalizedUser: "an older version stored the user under an id that Carillon no longer uses"
    case .unnormalizedMember: "an older version stored a member under an id that Carillon no longer uses"
    case .unusableID: "an older version stored an id that files, events and commands can't contain"
    case .unlistedSegment: "the segment is not listed"
    case .unreadableDefinition: "the segment's definition can't be read"
    case .wrongList: "the campaign should not be in this list"
    case .missingFromList: "the campaign is missing from this list"
    case .lostSlice: "the slice is unfinished but in no list"
    case .unlistedWorker: "data remains of an unknown worker"
    case .damagedCampaign: "the campaign's data is corrupt"
    case .wrongTotals: "the campaign's counters are inconsistent"
    case .missingPart: "the campaign lists a part that does not exist"
    case .partWithoutCampaign: "the part and its campaign do not name each other"
    case .wrongPartState: "the states of the part and its campaign do not agree"
    case .lostRetry: "a waiting target is missing from the retry list"
    case .retryWithoutTarget: "the retry list contains a target that does not wait"
    case .damagedSlice: "the slice's data is corrupt"
    case .wrongCounters: "the slice's counters differ from its ledger"
    case .wrongType: "the key has a wrong type"
    case .orphan: "the key belongs to an expired campaign"
    case .neverExpires: "the key should expire, but has no expiry"
    case .unknownKey: "the key is unknown in this version of the layout"
    }
  }

  /// The next step for the operator.
  var hint: String {
    switch self {
    case .unreadableRecord: "read it with HGET, delete the field and import the user again"
    case .unreadableOwner: "read it with HGET and delete the field; --repair then writes the right owner"
    case .unnormalizedUser, .unnormalizedMember:
      "run carillon store check --repair again; if the finding remains, the user has a device of an unconfigured service, an "
        + "unreadable device record or an unfinished erasure"
    case .unusableID:
      "pause campaigns to this user; find the intended id and add it (carillon suppression add, segment add, "
        + "devices import); then delete this entry with SREM or HDEL"
    case .unlistedSegment:
      "import it again with --replace, or remove it: carillon segment remove; an import or a removal was interrupted"
    case .unreadableDefinition:
      "define it again: carillon segment define, or remove it: carillon segment remove; jobs that use it are refused"
    case .damagedCampaign: "workers isolate it; start one, then check carillon dead list"
    case .damagedSlice: "workers isolate it; start one, then check carillon dead list"
    case .missingPart, .partWithoutCampaign, .wrongPartState:
      "pause the campaign: carillon campaign pause; find other programs that write to this Redis; then cancel the campaign, "
        + "or resume it if carillon campaign show lists all of its parts"
    case .wrongTotals, .wrongCounters:
      "find other programs that write to this Redis; carillon results export prints the ledger's outcomes, and carillon "
        + "campaign cancel ends a campaign that does not end"
    case .wrongType: "find other programs that write to this Redis; fix or delete the key, or restore a backup"
    case .unknownKey: "find other programs that write to this Redis, and delete the key"
    default: "this is a bug in Carillon: please report it"
    }
  }
}

/// The numbers of objects that a check has read.
public struct StoreCheckTally: Equatable, Sendable {
  public var keys = 0
  public var users = 0
  public var tokens = 0
  public var campaigns = 0
  public var slices = 0
  /// Checks that were left out, because a key that they need has a wrong type.
  public var leftOut = 0

  /// Creates empty numbers.
  public init() {}
}
