/// The damaged part of the store: a key of a wrong type, or a value that Carillon did not write.
public enum Damage: Sendable, Equatable {
  /// Keys of one slice.
  case slice(SliceReference)
  /// Keys of one campaign.
  case campaign(String)
  /// A key that workers rebuild from other keys or write again. Its former content is lost in any case.
  case list(key: String)
  /// Keys of a partition, which all campaigns share.
  case partition(Int)
  /// A key with segments or templates. It affects the jobs that name one of them.
  case catalog(key: String)
  /// Keys that all campaigns and workers share.
  case shared
}

extension StoreError {
  /// Whether the error affects every job and every event: the server refuses work, or a key is damaged that all of them
  /// need. A job that fails with such an error is not at fault.
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

  /// Creates the error for damaged data.
  ///
  /// - Parameters:
  ///   - damage: the affected object.
  ///   - what: the error, with the key and its expected value.
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

  /// Returns the error for a key of a wrong type.
  static func type(of key: StoredKey, is found: String) -> StoreError {
    StoreError(key.damage, "the key \(key.name) is a \(found), but should be a \(key.type)")
  }
}
