/// What of the store can't be right: a key of another type than it is written with, or a value that nothing of ours has
/// written.
public enum Damage: Sendable, Equatable {
  /// Keys of one slice.
  case slice(SliceReference)
  /// Keys of one campaign.
  case campaign(String)
  /// A key that is rebuilt from others when it is gone, or that is made anew: what stood there before is lost anyhow.
  case list(key: String)
  /// Keys of a partition, which all campaigns share.
  case partition(Int)
  /// A key in which segments or templates are looked up: it concerns the jobs that name one.
  case catalog(key: String)
  /// Keys that everybody shares.
  case shared
}

extension StoreError {
  /// Whether every job and every event meets it: the server refuses work, or a key is damaged that nothing can do without.
  /// A job that can't be taken in for such a reason is not at fault.
  public var concernsEverybody: Bool {
    switch damage {
    case .list?, .shared?: return true
    case .slice?, .campaign?, .partition?, .catalog?: return false
    case nil: break
    }
    return switch code {
    case .mismatch, .held, .unfit, .forbidden, .readOnly, .full: true
    case .notFound, .unapproved, .conflict, .decided, .invalid, .damaged, .refused: false
    }
  }

  /// - Parameters:
  ///   - damage: who is concerned.
  ///   - what: what is wrong, with the key and what it should be.
  init(_ damage: Damage, _ what: String) {
    let hint =
      switch damage {
      case .slice, .campaign:
        "workers take it out and go on with the rest, see `carillon dead list`; find out who else writes to this Redis"
      case .list: "workers set it aside and make it anew; find out who else writes to this Redis"
      case .partition, .catalog, .shared:
        "mend or delete the key, or restore Redis from a backup; find out who else writes to this Redis"
      }
    self.init(.damaged, what, hint: hint)
    self.damage = damage
  }

  /// That of a key with another type.
  static func type(of key: StoredKey, is found: String) -> StoreError {
    StoreError(key.damage, "the key \(key.name) is a \(found), but should be a \(key.type)")
  }
}
