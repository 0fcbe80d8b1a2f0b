/// The content and the headers of a campaign's pushes.
public struct CampaignMessage: Sendable, Equatable {
  /// The payload: JSON without insignificant white space, otherwise byte for byte as the producer wrote it. With variants it is
  /// what they change, or that of the first; ``content`` has all of them.
  public var payload: [UInt8]
  /// The parts of the payload that differ from push to push; `nil` if all pushes have ``payload``.
  public var content: PersonalContent?
  /// The variants of the message; `nil` for one message.
  public var variants: CampaignVariants?
  /// The place of the variant that all users get: the winner of an earlier stage; `nil` where each user draws one.
  public var variant: Int?
  /// The values for ``content`` that the job gives, by user: a JSON object each.
  public var recipientValues: [String: [UInt8]] = [:]
  /// Whether the store has more of these values than the job.
  public var hasValuesBeside = false
  /// The push type, by the push service's own name.
  public var pushType = "alert"
  /// The priority, in the service's own numbers.
  public var priority = 10
  /// The end of the time in which a push is of use.
  public var expiration = Expiration.unset
  /// The id by which a push replaces another on a device; `nil` for none.
  public var collapseID: String?
  /// The push types of its companions.
  public var also: [String] = []
}
