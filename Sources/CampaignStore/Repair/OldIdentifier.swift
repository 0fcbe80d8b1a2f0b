import PushCore

/// A user id in a form that an older version of Carillon stored and that this version does not look up.
///
/// Older versions stored ids as they stood in files and events: with white space at an edge, not in NFC, or with an
/// invisible character at an edge. ``UserID`` defines the present form.
struct OldIdentifier {
  /// The id as it is stored.
  let stored: String
  /// The id in the present form; `nil` where no id is meant, so that only a person can say what to do.
  let present: String?
  /// What is wrong with the stored form, as a clause.
  let fault: String

  /// - Returns: `nil` for an id in the present form.
  init?(_ stored: String) {
    do throws(IdentifierError) {
      let present = try UserID.read(stored)
      // `==` of texts calls NFC and NFD the same. Redis compares bytes.
      if present.utf8.elementsEqual(stored.utf8) { return nil }
      self.present = present
      fault =
        Identifier.trimmed(stored).utf8.count < stored.utf8.count
        ? "has white space at an edge" : "is not in Unicode NFC"
    } catch {
      present = nil
      fault = error.description
    }
    self.stored = stored
  }

  /// The old forms among ids, in their order.
  static func all(in ids: some Sequence<String>) -> [OldIdentifier] { ids.compactMap(OldIdentifier.init) }

  /// The fault, and its danger where the id is a member of a list of users.
  func danger(in list: String) -> String {
    let user = present.map(Excerpt.quoted) ?? "the user who is meant"
    let effect =
      SuppressionList(segment: list) == nil
      ? "audiences and exclusions by this segment miss \(user)"
      : "the opt-out of \(user) has no effect, and \(user) can get pushes"
    return "\(Excerpt.quoted(stored)) \(text); \(effect)"
  }

  /// The fault, and its danger where the id has devices or other data of a user.
  var dangerOfUser: String {
    let user = present.map(Excerpt.quoted) ?? "the user who is meant"
    return "\(Excerpt.quoted(stored)) \(text); an opt-out of \(user) does not stop pushes to these devices"
  }

  private var text: String { present == nil ? "can't be used: \(fault)" : fault }
}
