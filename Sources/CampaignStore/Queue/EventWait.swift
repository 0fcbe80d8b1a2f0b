import Redis

/// The wait of a campaign, before it begins to expand, for the registration events that were queued before it.
public enum EventWait: Sendable, Equatable {
  /// The campaign waits for at most so many ms more.
  case waits(campaign: String, milliseconds: Int)
  /// The campaign waited for ``longest`` and begins; so many of the events are not applied.
  case overtakes(campaign: String, events: Int)

  /// The longest wait, in ms. A housekeeper that dies is replaced after 2.5 s at most, so the events that it had in hand are
  /// applied in time. A flood of events, or a page that can't be applied, delays an urgent campaign by no more than this.
  public static let longest = 5000

  /// - Parameter reply: of `dequeue.lua`.
  /// - Returns: `nil` when the reply says nothing about a wait.
  init?(_ reply: RedisReply, of campaign: String) {
    guard reply.kind == .bulk, let words = reply.string?.split(separator: " "), words.count == 2,
      let number = Int(words[1])
    else { return nil }
    switch words[0] {
    case "waits": self = .waits(campaign: campaign, milliseconds: number)
    case "overtakes": self = .overtakes(campaign: campaign, events: number)
    default: return nil
    }
  }
}
