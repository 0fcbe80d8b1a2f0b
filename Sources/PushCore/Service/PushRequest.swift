/// The HTTP request that pushes share (a POST over HTTP/2), and what differs from one to the next.
///
/// A class, so that connections know one that they have prepared by its identity: it is made once for a campaign, not for
/// each batch.
public final class PushRequest: Sendable {
  /// A header field.
  public struct Field: Sendable, Equatable {
    /// In lower case.
    public var name: String
    /// Without control characters: a line break would begin another header (RFC 9113 section 8.2.1).
    public let value: String

    /// - Parameter value: control characters are left out.
    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = String(decoding: value.utf8.filter { $0 >= 0x20 && $0 != 0x7f }, as: UTF8.self)
    }
  }

  /// From the slash on.
  public let path: String
  /// Bytes of the longest token that is written behind ``path``, in lower-case hex; `nil` where the path is complete.
  public let tokenInPath: Int?
  /// Fields that stay the same; `authorization` and what HTTP/2 itself asks for are not among them.
  public let fields: [Field]
  /// The field that carries ``Push/id`` as a UUID; `nil` for none.
  public let identifier: String?

  /// Memberwise.
  public init(path: String, tokenInPath: Int? = nil, fields: [Field], identifier: String? = nil) {
    self.path = path
    self.tokenInPath = tokenInPath
    self.fields = fields
    self.identifier = identifier
  }
}

/// Makes the pushes of one campaign. Confined to one thread at a time.
public protocol PushComposer: AnyObject {
  /// A batch for pushes of the campaign.
  ///
  /// - Parameters:
  ///   - isUnproven: see ``PushBatch/isUnproven``.
  ///   - capacity: how many are expected.
  func batch(isUnproven: Bool, capacity: Int) -> PushBatch

  /// Adds the push to a token, with its payload and id. The same push has the same id, whoever sends it and when.
  ///
  /// Called for every push: it allocates nothing beyond the batch's room.
  ///
  /// - Parameter values: what the campaign's content knows of the target; `nil` where all pushes say the same.
  /// - Returns: whether it was added; not when its payload would be larger than the service takes.
  func append(_ token: ArraySlice<UInt8>, _ values: TargetValues?, tag: UInt64, to batch: inout PushBatch) -> Bool
}

extension PushBatch {
  /// Adds the push to a token as its campaign's composer makes it.
  @inlinable
  public mutating func append(
    _ token: ArraySlice<UInt8>, _ values: TargetValues? = nil, tag: UInt64, by composer: any PushComposer
  ) -> Bool {
    composer.append(token, values, tag: tag, to: &self)
  }
}
