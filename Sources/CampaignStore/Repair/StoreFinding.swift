/// An inconsistency of the store: the problem, its place, and the remedy.
public struct StoreFinding: Hashable, Sendable {
  /// The violated invariant. Raw values are names in JSON.
  public enum Kind: String, CaseIterable, Sendable {
    // Users
    case userWithoutDevices, userNotListed, attributesOfNobody, pressureOfNobody, unreadableRecord, misplacedUser
    case quarantinedWithoutNote, noteOfNoDevice, unnormalizedUser
    // Tokens
    case ownerWithoutDevice, deviceWithoutOwner, deviceOfTwo, misplacedOwner, unreadableOwner, leftRegistration
    // Segments
    case misplacedMember, unnormalizedMember, unusableID, unlistedSegment, unreadableDefinition
    // Campaigns
    case wrongList, missingFromList, lostSlice, unlistedWorker, damagedCampaign, wrongTotals
    // Slices
    case lostRetry, retryOfNothing, damagedSlice, wrongCounters
    // Keys
    case wrongType, orphan, neverExpires, unknownKey
  }

  /// The state of the finding.
  public enum Standing: String, Sendable {
    /// The problem remains; ``Repair/check(mending:pause:found:)`` can repair it.
    case mendable
    /// The problem is repaired.
    case mended
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
  public var remedy: String {
    switch standing {
    case .mended: "nothing: it is mended"
    case .mendable: "mend it: carillon store check --mend"
    case .open: kind.remedy
    }
  }
}

extension StoreFinding.Kind {
  /// The problem in a few words.
  var problem: String {
    switch self {
    case .userWithoutDevices: "the user is listed, but has no device"
    case .userNotListed: "the user has devices, but is not listed"
    case .attributesOfNobody: "there are attributes of a user without devices"
    case .pressureOfNobody: "something is counted for a user without devices"
    case .unreadableRecord: "the user's devices can't be read"
    case .misplacedUser: "the user belongs to another partition"
    case .quarantinedWithoutNote: "a device is in quarantine, and nobody knows why"
    case .noteOfNoDevice: "the quarantine names a device that is not in it"
    case .ownerWithoutDevice: "the token has an owner, who doesn't have the device"
    case .deviceWithoutOwner: "the device's token has no owner"
    case .deviceOfTwo: "two users have the device"
    case .misplacedOwner: "the token's owner belongs to another partition"
    case .unreadableOwner: "the token's owner can't be read"
    case .leftRegistration: "a registration has begun and not ended"
    case .misplacedMember: "a user of the segment belongs to another partition"
    case .unnormalizedUser: "an older version stored the user under an id that nothing looks up"
    case .unnormalizedMember: "an older version stored a member under an id that nothing looks up"
    case .unusableID: "an older version stored an id that no file, event or command can name"
    case .unlistedSegment: "the segment is not listed"
    case .unreadableDefinition: "the segment's definition can't be read"
    case .wrongList: "the campaign should not be there"
    case .missingFromList: "the campaign should be there"
    case .lostSlice: "the slice is not finished, and in no list"
    case .unlistedWorker: "something is left of a worker that nobody knows"
    case .damagedCampaign: "the campaign can't be right"
    case .wrongTotals: "the campaign's numbers don't agree"
    case .lostRetry: "a target waits, and is not in the list of those that do"
    case .retryOfNothing: "a target is in the list of those that wait, and doesn't"
    case .damagedSlice: "the slice can't be right"
    case .wrongCounters: "the slice's counters don't agree with its ledger"
    case .wrongType: "the key has another type than it should"
    case .orphan: "the key is of a campaign that is gone"
    case .neverExpires: "the key should expire, and doesn't"
    case .unknownKey: "no version of this layout has such a key"
    }
  }

  /// The next step for the operator.
  var remedy: String {
    switch self {
    case .unreadableRecord: "look at it with HGET; delete the field, and import the user again"
    case .unreadableOwner: "look at it with HGET, and delete the field; --mend then writes what is true"
    case .unnormalizedUser, .unnormalizedMember:
      "run carillon store check --mend again; what stays has a device of a service that is not configured, or a device "
        + "record that can't be read, or an erasure that has not ended"
    case .unusableID:
      "pause campaigns to this user; find out which id is meant and enter it (carillon suppression add, segment add, "
        + "devices import); then delete this entry with SREM or HDEL"
    case .unlistedSegment:
      "import it again with --replace, or remove it: carillon segment remove; an import or a removal did not end"
    case .unreadableDefinition:
      "define it again: carillon segment define, or remove it: carillon segment remove; jobs that name it are refused"
    case .damagedCampaign: "workers take it out; start one, then see carillon dead list"
    case .damagedSlice: "workers take it out; start one, then see carillon dead list"
    case .wrongTotals, .wrongCounters:
      "find out who else writes to this Redis; carillon results export has what the ledger knows, and carillon campaign "
        + "cancel ends a campaign that does not end by itself"
    case .wrongType: "find out who else writes to this Redis; mend or delete the key, or restore a backup"
    case .unknownKey: "find out who else writes to this Redis, and delete it"
    default: "report this: it is a defect"
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
