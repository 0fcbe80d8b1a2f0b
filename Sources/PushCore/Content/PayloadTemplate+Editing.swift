/// Changes of a template by a push service that adds members to the payload of the job.
extension PayloadTemplate {
  /// A text that replaces a part of the template.
  public struct Edit {
    /// Range in ``PayloadTemplate/skeleton`` that is replaced: empty for an insertion. The range must not contain a
    /// slot, which is a part that differs from push to push.
    public var range: Range<Int>
    /// JSON text that replaces the range.
    public var text: [UInt8]
    /// If not `nil`, the remaining lifetime of the push in seconds is inserted after ``text``, and this text follows.
    public var textAfterLifetime: [UInt8]?

    /// Creates an instance with these values.
    public init(_ range: Range<Int>, _ text: [UInt8], textAfterLifetime: [UInt8]? = nil) {
      (self.range, self.text, self.textAfterLifetime) = (range, text, textAfterLifetime)
    }
  }

  /// The payload with the fallbacks of all placeholders. The push's own id and its lifetime are empty in the skeleton.
  /// If the template has not been edited, the skeleton is a complete JSON text.
  public var skeleton: [UInt8] {
    var skeleton: [UInt8] = []
    skeleton.reserveCapacity(bytes.count)
    for piece in pieces { skeleton += bytes[piece.literal.lowerBound..<piece.fallback.upperBound] }
    return skeleton + bytes[rest]
  }

  /// Returns the template with changes.
  ///
  /// - Parameters:
  ///   - edits: changes in the order of their ranges, which do not overlap. No range contains a slot.
  ///   - uncounted: number of bytes outside all slots that the service does not count against its size limit.
  public func applying(_ edits: [Edit], uncounted: Int) -> PayloadTemplate {
    var result = PayloadTemplate()
    result.uncounted = uncounted
    var edits = edits[...]
    var place = 0
    /// Copies a literal, and applies the edits that begin in it or immediately after it.
    func copy(_ literal: Range<Int>) {
      let end = place + literal.count
      var from = literal.lowerBound
      while let edit = edits.first, edit.range.lowerBound <= end {
        let begin = literal.lowerBound + edit.range.lowerBound - place
        result.add(bytes[from..<max(from, begin)])
        result.add(edit.text)
        if let behind = edit.textAfterLifetime {
          result.add(.lifetime)
          result.add(behind)
        }
        from = max(from, begin + edit.range.count)
        edits.removeFirst()
      }
      result.add(bytes[from..<literal.upperBound])
      place = end
    }
    for piece in pieces {
      copy(piece.literal)
      result.add(piece.slot, fallback: Array(bytes[piece.fallback]))
      place += piece.fallback.count
    }
    copy(rest)
    return result
  }
}

extension PayloadForm {
  /// The payload with the fallbacks of all placeholders, as JSON.
  public var skeleton: [UInt8] { template.skeleton }
}
