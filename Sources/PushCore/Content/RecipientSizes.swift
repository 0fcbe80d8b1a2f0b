/// Calculation of the payload sizes of a job whose recipients have their own values in the job.
///
/// The job has one payload form for each language (``PayloadForm``). The languages of the recipients are unknown here,
/// so the size of a form is its largest size for any recipient. The exact calculation checks every form for every
/// recipient. If there are too many pairs of form and recipient, an upper bound is calculated instead. For this bound,
/// each value is as long as the longest value of any recipient. The bound is never too small, and the time to calculate
/// it depends only on the length of the job.
struct RecipientSizes {
  /// Maximum number of additions for exact sizes; they take about 20 ms.
  var maximumSteps = 2_000_000
  /// Maximum number of values to format for exact sizes; it takes about 100 ms.
  var maximumFormatted = 200_000
  /// Allowance in bytes for formatted values. The length of a value in one language is at most twice its length in
  /// another language plus this number.
  private static let formatSlack = 48

  private let content: PersonalContent
  private let bytes: [UInt8]
  private let recipients: [(user: String, values: JSONValue)]

  /// - Parameters:
  ///   - content: the content with the values of the forms.
  ///   - bytes: the text of the job.
  ///   - recipients: the recipients of the job. Recipients without values are skipped.
  init(_ content: PersonalContent, in bytes: [UInt8], of recipients: [JobRecipient]) {
    self.content = content
    self.bytes = bytes
    self.recipients = recipients.compactMap { recipient in recipient.values.map { (recipient.user, $0) } }
  }

  /// Raises the size of each form to its largest size with the values of any recipient.
  func measure(_ forms: inout [PayloadForm]) {
    guard !recipients.isEmpty else { return }
    let conventions = Conventions(forms, usesFormats: content.values.contains { $0.format != nil })
    let steps = recipients.count * forms.reduce(0) { $0 + $1.template.pieces.count }
    if steps <= maximumSteps,
      recipients.count * conventions.locales.count * content.values.count <= maximumFormatted
    {
      measureEach(&forms, conventions)
    } else {
      bound(&forms, conventions)
    }
  }

  /// Languages of the forms, one for each convention for numbers and dates, so that no convention is measured twice.
  private struct Conventions {
    /// One language for each convention.
    private(set) var locales: [[UInt8]] = []
    /// Position in ``locales`` of the language of each form.
    private(set) var places: [Int] = []

    init(_ forms: [PayloadForm], usesFormats: Bool) {
      guard usesFormats else {
        locales = [[]]
        places = Array(repeating: 0, count: forms.count)
        return
      }
      var known: [Int: Int] = [:]
      for form in forms {
        let locale = Array((form.locale ?? "").utf8)
        let way = LocaleConvention.index(for: LanguageTag(locale)) ?? -1
        if known[way] == nil {
          known[way] = locales.count
          locales.append(locale)
        }
        places.append(known[way] ?? 0)
      }
    }
  }

  /// Calls `body` for each recipient with the lengths of its values in the given languages; `nil` for a missing value.
  private func forEachRecipient(_ locales: ArraySlice<[UInt8]>, _ body: (Int, [[Int?]]) -> Void) {
    var user = PersonalContent.User(content)
    var sealed: [UInt8] = []
    for (number, recipient) in recipients.enumerated() {
      var lengths: [[Int?]] = []
      bytes.withUnsafeBytes { bytes in
        let values = UnsafeRawBufferPointer(rebasing: bytes[recipient.values.range])
        content.find(&user, values: values, attributes: .init(start: nil, count: 0))
        for locale in locales {
          sealed.removeAll(keepingCapacity: true)
          locale.withUnsafeBytes { content.writeValues(of: &user, locale: $0, to: &sealed) }
          var cursor = TargetValues(sealed[...]).values
          lengths.append(content.values.indices.map { _ in cursor.next()?.count })
        }
      }
      body(number, lengths)
    }
  }

  private func measureEach(_ forms: inout [PayloadForm], _ conventions: Conventions) {
    forEachRecipient(conventions.locales[...]) { recipient, lengths in
      for index in forms.indices {
        let known = lengths[conventions.places[index]]
        let size = forms[index].template.shortestSize { known[$0] }
        guard size > forms[index].size else { continue }
        (forms[index].size, forms[index].largestFor) = (size, recipients[recipient].user)
      }
    }
  }

  private func bound(_ forms: inout [PayloadForm], _ conventions: Conventions) {
    let most = max(1, maximumFormatted / (recipients.count * max(1, content.values.count)))
    let locales = conventions.locales.prefix(most)
    var longest = Array(repeating: 0, count: content.values.count)
    var isMissing = Array(repeating: false, count: content.values.count)
    forEachRecipient(locales) { _, lengths in
      for known in lengths {
        for place in known.indices {
          if let length = known[place] { longest[place] = max(longest[place], length) } else { isMissing[place] = true }
        }
      }
    }
    if locales.count < conventions.locales.count {
      for place in longest.indices where content.values[place].format != nil {
        longest[place] = 2 * longest[place] + Self.formatSlack
      }
    }
    for index in forms.indices {
      let size = forms[index].template.shortestSize { place, fallback in
        max(longest[place], isMissing[place] ? fallback : 0)
      }
      forms[index].size = max(forms[index].size, size)
    }
  }
}
