import PushCore

/// A user id in a form that an older version of Carillon stored. Lookups with the present form of the id don't find it.
///
/// Older versions stored ids unchanged from files and events: with white space at an edge, not in NFC, or with an
/// invisible character at an edge. ``UserID`` defines the present form.
struct OldIdentifier {
  /// The id as it is stored.
  let stored: String
  /// The id in the present form; `nil` if the id is not valid in the present form, so that an operator must decide.
  let present: String?
  /// The problem of the stored form, as text within a sentence.
  let fault: String

  /// Creates the description of an id.
  /// - Returns: `nil` for an id in the present form.
  init?(_ stored: String) {
    do throws(IdentifierError) {
      let present = try UserID.read(stored)
      // `==` treats NFC and NFD as equal. Redis compares bytes.
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

  /// Returns those of these ids that have an old form, in their order.
  static func all(in ids: some Sequence<String>) -> [OldIdentifier] { ids.compactMap(OldIdentifier.init) }

  /// Returns the problem and its consequence for a member of a list of users.
  func problem(in list: String) -> String {
    let user = present.map(Excerpt.quoted) ?? "the intended user"
    let effect =
      SuppressionList(segment: list) == nil
      ? "audiences and exclusions by this segment miss \(user)"
      : "the opt-out of \(user) has no effect, and \(user) can get pushes"
    return "\(Excerpt.quoted(stored)) \(text); \(effect)"
  }

  /// The problem and its consequence for an id with devices or other data.
  var problemOfUser: String {
    let user = present.map(Excerpt.quoted) ?? "the intended user"
    return "\(Excerpt.quoted(stored)) \(text); an opt-out of \(user) does not stop pushes to these devices"
  }

  private var text: String { present == nil ? "is unusable: \(fault)" : fault }
}
