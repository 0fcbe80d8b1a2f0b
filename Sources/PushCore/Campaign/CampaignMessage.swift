/// Content and headers of a campaign's pushes.
public struct CampaignMessage: Sendable, Equatable {
  /// Payload as the service gets it: JSON without insignificant white space. Texts are byte for byte as the producer
  /// wrote them. If the campaign has variants, this is the payload that they change, or the payload of the first
  /// variant. ``content`` contains the payloads of all variants.
  public var payload: [UInt8]
  /// Path of the content in the job, for error messages: `message`, or the payload of the service's own object.
  public var place = "message"
  /// Parts of the payload that differ from push to push; `nil` if all pushes have ``payload``.
  public var content: PersonalContent?
  /// Variants of the message; `nil` for one message.
  public var variants: CampaignVariants?
  /// Position of the variant that all users get: the winner of an earlier stage. `nil` if each user is assigned to a
  /// variant.
  public var variant: Int?
  /// Values for ``content`` that the job contains, by user: one JSON object for each.
  public var recipientValues: [String: [UInt8]] = [:]
  /// Whether the store has further values for the recipients, which are not in ``recipientValues``.
  public var hasValuesBeside = false
  /// Push type, in the push service's own terms.
  public var pushType = "alert"
  /// Priority, in the service's own numbers.
  public var priority = 10
  /// Expiration of the pushes.
  public var expiration = Expiration.unset
  /// Collapse id: a push replaces an earlier push with the same id on a device. `nil` for none.
  public var collapseID: String?
}
