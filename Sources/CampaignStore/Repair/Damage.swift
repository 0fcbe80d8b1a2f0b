/// The damaged part of the store: a key of a wrong type, or a value that Carillon did not write.
public enum Damage: Sendable, Equatable {
  /// Keys of one slice.
  case slice(SliceReference)
  /// Keys of one campaign.
  case campaign(String)
  /// A key that workers can derive from other keys, or fill again. Its old content is lost.
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
  /// need. Such an error is not caused by the job.
  public var affectsAllCampaigns: Bool {
    switch damage {
    case .list?, .shared?: return true
    case .slice?, .campaign?, .partition?, .catalog?: return false
    case nil: break
    }
    return switch code {
    case .mismatch, .locked, .unfit, .forbidden, .readOnly, .full: true
    case .notFound, .unapproved, .conflict, .decided, .invalid, .damaged, .refused: false
    }
  }

  /// Creates the error for damaged data.
  ///
  /// - Parameters:
  ///   - damage: the damaged part of the store.
  ///   - what: the description of the error, with the key and its expected value.
  init(_ damage: Damage, _ what: String) {
    let hint =
      switch damage {
      case .slice, .campaign:
        "workers isolate it and continue with the rest, see `carillon dead list`; find other programs that write to this Redis"
      case .list: "workers move it aside and rebuild it; find other programs that write to this Redis"
      case .partition, .catalog, .shared:
        "fix or delete the key, or restore Redis from a backup; find other programs that write to this Redis"
      }
    self.init(.damaged, what, hint: hint)
    self.damage = damage
  }

  /// Returns the error for a key of a wrong type.
  static func type(of key: StoredKey, is found: String) -> StoreError {
    StoreError(key.damage, "the key \(key.name) has type \(found), expected \(key.type)")
  }
}
