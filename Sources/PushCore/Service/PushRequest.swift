/// HTTP request (a POST over HTTP/2) that pushes share, and the parts in which the pushes differ.
///
/// All batches of a campaign share one instance. The type is a class, so that a connection recognises by its identity a
/// request that it has already prepared.
public final class PushRequest: Sendable {
  /// A header field.
  public struct Field: Sendable, Equatable {
    /// Name of the field, in lower case.
    public var name: String
    /// Value without control characters: a line break would begin another header (RFC 9113 section 8.2.1).
    public let value: String

    /// - Parameter value: the value; control characters are removed.
    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = String(decoding: value.utf8.filter { $0 >= 0x20 && $0 != 0x7f }, as: UTF8.self)
    }
  }

  /// Path of the URL; begins with a slash.
  public let path: String
  /// Maximum length in bytes of a token that is appended to ``path`` in lower-case hex; `nil` if the path is complete.
  public let tokenInPath: Int?
  /// Fields that are the same for all pushes, without `authorization` and the fields that HTTP/2 itself requires.
  public let fields: [Field]
  /// Name of the field that carries ``Push/id`` as a UUID; `nil` for none.
  public let identifier: String?

  /// Creates an instance with these values.
  public init(path: String, tokenInPath: Int? = nil, fields: [Field], identifier: String? = nil) {
    self.path = path
    self.tokenInPath = tokenInPath
    self.fields = fields
    self.identifier = identifier
  }
}

/// Composer that makes the pushes of one campaign for one service. Only one thread at a time may use a composer.
public protocol PushComposer: AnyObject {
  /// Whether pushes with an expiration contain their remaining lifetime instead of the time of the expiration. The
  /// worker composes such a push again if it waits long for a connection. Default: `false`.
  var sendsLifetime: Bool { get }

  /// Returns an empty batch for pushes of the campaign.
  ///
  /// - Parameters:
  ///   - isUnproven: see ``PushBatch/isUnproven``.
  ///   - capacity: expected number of pushes.
  ///   - now: present time in UNIX seconds, for a service that sends the remaining lifetime of a push. The time applies
  ///     to all pushes that are added until the next batch.
  func batch(isUnproven: Bool, capacity: Int, now: Int) -> PushBatch

  /// Adds the push for a token, with its payload and id. The push of a campaign to a token always has the same id,
  /// regardless of the worker and the time.
  ///
  /// The worker calls this function for every push, so the function must not allocate memory beyond the capacity of the
  /// batch.
  ///
  /// - Parameter values: the target's values for the campaign's content; `nil` if all pushes have the same content.
  /// - Returns: whether the push was added. A push whose payload would be larger than the service allows is not added.
  func append(_ token: ArraySlice<UInt8>, _ values: TargetValues?, tag: UInt64, to batch: inout PushBatch) -> Bool
}

extension PushComposer {
  public var sendsLifetime: Bool { false }
}

extension PushBatch {
  /// Adds the push for a token that the composer of the campaign makes.
  @inlinable
  public mutating func append(
    _ token: ArraySlice<UInt8>, _ values: TargetValues? = nil, tag: UInt64, by composer: any PushComposer
  ) -> Bool {
    composer.append(token, values, tag: tag, to: &self)
  }
}
