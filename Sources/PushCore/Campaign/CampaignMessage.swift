/// Content and headers of a campaign's pushes.
public struct CampaignMessage: Sendable, Equatable {
  /// Payload as the service gets it: JSON without insignificant white space. Texts are byte for byte as the producer
  /// wrote them. If the campaign has variants, this is the payload that all variants change. If the job has no such
  /// payload, it is the payload of the first variant. ``content`` contains the payloads of all variants.
  public var payload: [UInt8]
  /// Path of the content in the job, for error messages: `message`, or the payload in the object of the service, such
  /// as `apns.payload`.
  public var place = "message"
  /// Parts of the payload that differ from push to push; `nil` if all pushes have ``payload``.
  public var content: PersonalContent?
  /// Variants of the message; `nil` for one message.
  public var variants: CampaignVariants?
  /// Position of the variant that all users get: the winner of an earlier stage. `nil` if each user is assigned to a
  /// variant.
  public var variant: Int?
  /// Values of placeholders that the job contains: one JSON object for each user.
  public var recipientValues: [String: [UInt8]] = [:]
  /// Whether the store has values of placeholders for further users, which are not in ``recipientValues``.
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
