public import PushCore

/// A push of a job or of a payload file in its final form, as the rules of a service check it.
public protocol LintDraft: Sendable {
  /// Push types of the service.
  associatedtype PushType: RawRepresentable<String>

  /// Push type of the push.
  var pushType: PushType { get }
  /// The payload, its place and its size.
  var payload: DraftPayload { get }
  /// Time until which the service stores the push.
  var expiration: Expiration { get }
  /// Largest payload in bytes.
  var maximumSize: Int { get }

  /// Changes the push type, and sets the defaults of the new type.
  mutating func setPushType(_ type: PushType)

  /// Returns the size and the limit of the payload for the push type. With `all`, also returns them for every other
  /// kind of push.
  func sizes(all: Bool) -> [PushLint.Size]

  /// Returns the push type that fits a payload.
  static func inferred(_ payload: JSONValue) -> PushType
}

extension LintDraft {
  /// Path of the payload, for findings.
  public var path: String { payload.path }

  /// Size in bytes of the payload as it is sent. If a text must be shortened to fit, this size is the limit.
  var sentSize: Int { payload.fullSize.map { max(payload.size, min($0, maximumSize)) } ?? payload.size }

  /// Returns the pushes of a job: first the job's own content, then one push for each language and variant that changes
  /// it. Empty if the job has no content.
  ///
  /// An invalid field counts as missing here, because ``PushCore/CampaignJob/read(_:in:_:as:leg:)`` reports such a
  /// field.
  ///
  /// - Parameter make: creates a draft from the fields of the job, its content for the service, and the payload.
  public static func all(
    job root: JSONValue, in bytes: [UInt8], for service: any PushService,
    _ make: (JobFields, JobContent, DraftPayload) -> Self
  ) -> [Self] {
    guard case .object(let members) = root.kind else { return [] }
    let content = JobContent(of: members, for: service)
    let forms = (try? PayloadForm.all(of: members, in: bytes, for: service)) ?? []
    // If the job has a message, its payload is only a part of the push. If the payload forms can't be made, the job
    // parser reports the error.
    guard let payload = forms.first?.value ?? (content.hasMessage ? nil : content.payload), case .object = payload.kind
    else { return [] }
    let own = "\(service.name).\(service.payloadField)"
    let payloads = forms.isEmpty ? [DraftPayload(payload, at: own, in: bytes)] : forms.map { DraftPayload($0) }
    let fields = JobFields(members)
    return payloads.map { make(fields, content, $0) }
  }
}

/// Payload of a draft: its content, its place in the checked text, and its size.
public struct DraftPayload: Sendable {
  /// The payload.
  public let value: JSONValue
  /// Path of the payload in findings: for example `apns.payload` in a job; empty if the text is only a payload.
  public let path: String
  /// Payload form of the job from which the push is made; `nil` if the text is only a payload.
  public let form: PayloadForm?
  /// Size in bytes as the service counts it. If the pushes to different users differ, this is the largest known size.
  public private(set) var size: Int
  /// User with the largest push; `nil` if all pushes are equal.
  public let largestFor: String?
  /// Size in bytes if the values of all placeholders have the maximum length; `nil` if the payload has no placeholders,
  /// or if a text may be shortened.
  public private(set) var longestSize: Int?
  /// Number of bytes outside the values of placeholders.
  public private(set) var fixedSize: Int
  /// Size in bytes without shortening; `nil` if no text may be shortened.
  public private(set) var fullSize: Int?

  /// Creates the payload that a text contains.
  public init(_ value: JSONValue, at path: String, in bytes: [UInt8]) {
    (self.value, self.path, form) = (value, path, nil)
    (size, largestFor, longestSize) = (JSONValue.minified(bytes[value.range]).count, nil, nil)
    (fixedSize, fullSize) = (size, nil)
  }

  init(_ form: PayloadForm) {
    (value, path, self.form) = (form.value, form.payloadPath, form)
    (size, largestFor, longestSize) = (form.size, form.largestFor, form.longestSize)
    (fixedSize, fullSize) = (form.fixedSize, form.fullSize)
  }

  /// Subtracts from all sizes a number of bytes that the service does not count.
  public mutating func omit(_ bytes: Int) {
    size -= bytes
    longestSize = longestSize.map { $0 - bytes }
    fixedSize -= bytes
    fullSize = fullSize.map { $0 - bytes }
  }

  /// Returns the path in the job for a path in the payload. A path outside the payload is returned unchanged.
  func place(_ path: String) -> String {
    guard let form, path.hasPrefix(self.path) else { return path }
    let rest = path.dropFirst(self.path.count)
    guard rest.isEmpty || rest.hasPrefix(".") else { return path }
    return form.path(of: String(rest.dropFirst()))
  }
}
