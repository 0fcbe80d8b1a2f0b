import Redis

/// The wait of a campaign, before its expansion, until workers have applied the registration events that are already on
/// their list.
public enum EventWait: Sendable, Equatable {
  /// The campaign waits for at most this many ms more.
  case waits(campaign: String, milliseconds: Int)
  /// The campaign has waited for ``longest`` and begins, although this number of events is not applied yet.
  case expired(campaign: String, events: Int)

  /// The longest wait, in ms. If the maintenance leader dies, another worker takes its place within 2.5 s, so the
  /// events are normally still applied in time. After the longest wait, the campaign begins even if there are too many
  /// events, or if a page of events can't be applied.
  public static let longest = 5000

  /// Reads the reply of `dequeue.lua`.
  ///
  /// - Returns: `nil` if the reply is not about a wait.
  init?(_ reply: RedisReply, of campaign: String) {
    guard reply.kind == .bulk, let words = reply.string?.split(separator: " "), words.count == 2,
      let number = Int(words[1])
    else { return nil }
    switch words[0] {
    case "waits": self = .waits(campaign: campaign, milliseconds: number)
    case "overtakes": self = .expired(campaign: campaign, events: number)
    default: return nil
    }
  }
}
