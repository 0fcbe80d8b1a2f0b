/// Job from which a user was erased.
public struct ErasedJob: Sendable {
  /// Text of the job, with ``CampaignJob/erasedEntry`` instead of each removed entry.
  public var job: [UInt8]
  /// Whether the audience of the job is a list that contained only this user.
  public var concernsNoOtherUser: Bool
}

/// The error for a job whose recipients can't be found, because the job is not valid JSON or its audience has an
/// unknown form. Such a job may name a user anywhere.
public struct UnreadableRecipients: Error {}

/// Erasure of a user from the text of a job.
extension CampaignJob {
  /// Entry that replaces an erased user or token in the lists of a job or event, so that the lists keep their length.
  public static let erasedEntry = Array(#"{"erased":true}"#.utf8)

  /// Removes a user, the values of the user, and the user's tokens from the lists of a job: `audience.users`,
  /// `audience.tokens` and `stages[].users`.
  ///
  /// - Parameters:
  ///   - user: the user's id.
  ///   - job: the text of a job.
  ///   - isToken: returns whether a text is one of the user's tokens.
  /// - Returns: `nil` if no list of the job contains the user or a token.
  /// - Throws: ``UnreadableRecipients``.
  public static func erasing(
    _ user: String, from job: [UInt8], isToken: (String) -> Bool
  ) throws(UnreadableRecipients) -> ErasedJob? {
    guard let root = try? JSONValue(parsing: job, maximumDepth: maximumNesting), case .object(let members) = root.kind
    else { throw UnreadableRecipients() }
    var (removed, others): ([Range<Int>], Int) = ([], 0)
    func isUser(_ value: JSONValue) -> Bool { (try? UserID.read(value)) == user }
    func countErased(in list: JSONValue?, _ isErased: (JSONValue) -> Bool) -> Int {
      guard case .array(let elements)? = list?.kind else { return 0 }
      removed += elements.filter(isErased).map(\.range)
      return elements.count { !$0.isErasedEntry && !isErased($0) }
    }
    var isList = false
    if case .object(let audience)? = members.value("audience")?.kind {
      let (users, tokens) = (audience.value("users"), audience.value("tokens"))
      if case .array? = (users ?? tokens)?.kind { isList = true }
      others += countErased(in: users) { element in
        guard case .object(let recipient) = element.kind else { return isUser(element) }
        if case .string(let token)? = recipient.value("token")?.kind, isToken(token) { return true }
        return recipient.value("user").map(isUser) ?? false
      }
      others += countErased(in: tokens) { if case .string(let text) = $0.kind { isToken(text) } else { false } }
    }
    if case .array(let stages)? = members.value("stages")?.kind {
      for stage in stages {
        guard case .object(let fields) = stage.kind else { continue }
        _ = countErased(in: fields.value("users"), isUser)
      }
    }
    guard !removed.isEmpty else {
      guard JobAudience.hasKnownForm(members.value("audience")) else { throw UnreadableRecipients() }
      return nil
    }
    var (text, end): ([UInt8], Int) = ([], 0)
    text.reserveCapacity(job.count + removed.count * erasedEntry.count)
    for range in removed.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      text += job[end..<range.lowerBound]
      text += erasedEntry
      end = range.upperBound
    }
    return ErasedJob(job: text + job[end...], concernsNoOtherUser: isList && others == 0)
  }
}

extension JSONValue {
  /// Whether the value is ``CampaignJob/erasedEntry``.
  var isErasedEntry: Bool {
    guard case .object(let members) = kind, members.count == 1, case .bool(true)? = members.value("erased")?.kind else {
      return false
    }
    return true
  }
}
