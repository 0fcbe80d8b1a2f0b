/// Payload of a job for one language and variant. Carillon checks this payload with the rules of the service, and shows
/// it in previews.
public struct PayloadForm: Sendable {
  /// Language tag as written in the job; `nil` for the payload without the changes of any language.
  public let locale: String?
  /// Payload: an object.
  public let value: JSONValue
  let template: PayloadTemplate
  /// Size in bytes with the fallbacks of all placeholders, after shortening as far as possible. If the job has values
  /// for its recipients, this is the size of the largest push to any recipient.
  public internal(set) var size: Int
  /// Recipient with the largest size; `nil` if the size does not belong to one recipient.
  public internal(set) var largestFor: String?
  /// Path of the content in the job: `message`, `apns.payload` or the path of a language.
  public let path: String
  /// Path in the job of the service's own payload: `apns.payload`, or the same member of a language.
  public let payloadPath: String
  /// Job from which the payload was made; `nil` if the caller needs no paths.
  private let job: JSONValue?

  init(
    locale: String?, path: String, payloadPath: String, value: JSONValue, template: PayloadTemplate,
    in job: JSONValue?
  ) {
    (self.locale, self.path, self.payloadPath, self.value) = (locale, path, payloadPath, value)
    (self.template, self.job) = (template, job)
    size = template.shortestSize
  }

  /// Size in bytes without shortening if the value of every placeholder has the maximum length of an attribute. `nil`
  /// if the payload has no placeholders, or if a text may be shortened.
  public var longestSize: Int? {
    guard !template.places.isEmpty, !template.canShorten else { return nil }
    return template.size { _ in DeviceRowDraft.maximumAttributeValue }
  }

  /// Size in bytes with the fallbacks of all placeholders and without shortening; `nil` if no text may be shortened.
  public var fullSize: Int? { template.canShorten ? template.size : nil }

  /// Size in bytes if all placeholders are replaced by nothing.
  public var fixedSize: Int { template.size { _ in 0 } }

  /// Returns the path in the job of a place in the payload.
  ///
  /// - Parameter place: a path in the payload, such as `aps.alert.body`; empty for the payload as a whole.
  /// - Returns: `message.body` if the message has the value, or the path below the service's own object. If the payload
  ///   does not have the place, the result is the path at which the job can add it.
  public func path(of place: String) -> String {
    guard !place.isEmpty else { return path }
    let (nearest, rest) = value.nearest(to: place)
    let missing = "\(payloadPath).\(place)"
    guard let origin = job?.path(of: nearest) else { return missing }
    if rest.isEmpty { return origin }
    // The nearest object that exists may come from the message. Its path in the job is then a path in `message`, where
    // the job can't add members of the payload.
    let existing = place.dropLast(rest.count)
    return origin.hasSuffix("." + existing) ? origin + rest : missing
  }
}

extension JSONValue {
  /// Returns the value at a path inside this value. If there is no such value, returns the innermost value on the path
  /// that exists. The second result is the rest of the path.
  fileprivate func nearest(to path: some StringProtocol) -> (JSONValue, rest: Substring) {
    let inner = Substring(path.hasPrefix(".") ? path.dropFirst() : path[...])
    switch kind {
    case .object(let members):
      for member in members {
        let name = Excerpt.bare(member.name)
        guard inner.hasPrefix(name) else { continue }
        let rest = inner.dropFirst(name.count)
        guard rest.isEmpty || rest.hasPrefix(".") || rest.hasPrefix("[") else { continue }
        return member.value.nearest(to: rest)
      }
    case .array(let elements):
      guard inner.hasPrefix("["), let end = inner.firstIndex(of: "]"),
        let index = Int(inner[inner.index(after: inner.startIndex)..<end]), elements.indices.contains(index)
      else { break }
      return elements[index].nearest(to: inner[inner.index(after: end)...])
    case .string, .number, .bool, .null: break
    }
    return (self, Substring(path))
  }
}
