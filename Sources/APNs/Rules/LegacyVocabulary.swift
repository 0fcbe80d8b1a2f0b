internal import PushCore
internal import ServiceTools

/// Finds remains of settings for the binary interface of APNs in any text, and suggests the replacement for each.
///
/// Apple shut that interface down on 31 March 2021, but many configurations, scripts and notes still contain its terms.
enum LegacyVocabulary {
  /// A text that only such settings contain.
  private struct Trace {
    var pattern: String
    /// The line must contain at least one of these words, unless the list is empty.
    var among: [String] = []
    /// A word that gives the line another meaning, so that the line is not reported.
    var unless: String?
    var message: String
    var hint: String
  }

  private static let portWords = ["port", "apple", "apns", "gateway", "feedback"]
  private static let ended = "gone since 31 March 2021"

  private static let traces = [
    Trace(
      pattern: "gateway.push.apple.com", message: "the binary interface's gateway, \(ended)",
      hint: "use HTTP/2 to api.push.apple.com, port 443 or 2197"),
    Trace(
      pattern: "gateway.sandbox.push.apple.com", message: "the binary interface's sandbox gateway, \(ended)",
      hint: "use HTTP/2 to api.sandbox.push.apple.com, port 443 or 2197"),
    Trace(
      pattern: "feedback.push.apple.com", message: "the feedback service, \(ended)",
      hint: "remove this call: a 410 with a timestamp reports a dead token"),
    Trace(
      pattern: "feedback.sandbox.push.apple.com", message: "the feedback service, \(ended)",
      hint: "remove this call: a 410 with a timestamp reports a dead token"),
    Trace(
      pattern: "2195", among: portWords, unless: "manage-broadcast",
      message: "the port of the binary interface, \(ended)",
      hint: "use port 443 or 2197; since iOS 18, channels use the server api-manage-broadcast.sandbox.push.apple.com"),
    Trace(
      pattern: "2196", among: portWords, unless: "manage-broadcast",
      message: "the port of the feedback service, \(ended)",
      hint: "use port 443 or 2197; since iOS 18, channels use the server api-manage-broadcast.push.apple.com"),
    Trace(
      pattern: "feedback service", message: "the feedback service, \(ended)",
      hint: "remove this call: a 410 with a timestamp reports a dead token"),
    Trace(
      pattern: "enhanced notification", message: "a format of the binary interface, \(ended)",
      hint: "send a POST for each push, and read the status of its answer"),
    Trace(
      pattern: "enhanced format", message: "a format of the binary interface, \(ended)",
      hint: "send a POST for each push, and read the status of its answer"),
    Trace(
      pattern: "simple notification format", message: "a format of the binary interface, \(ended)",
      hint: "send a POST for each push, and read the status of its answer"),
    Trace(
      pattern: "binary interface", message: "the binary interface, \(ended)",
      hint: "use HTTP/2 to api.push.apple.com, port 443 or 2197"),
    Trace(
      pattern: "error-response packet", message: "a packet of the binary interface, \(ended)",
      hint: "read the answer of each push: a status, and a reason in JSON"),
  ]

  /// Words which show that a line is about a size limit.
  private static let limitWords = ["payload", "message size", "maxsize", "max_size", "max-size"]

  /// Returns a finding for every trace, in the order of the text.
  static func findings(in bytes: [UInt8]) -> [Finding] {
    var findings: [Finding] = []
    // The shortest trace is the number of a port, which has four digits.
    for (index, slice) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated()
    where slice.count > 3 {
      let line = String(decoding: slice, as: UTF8.self).lowercased()
      let add = { (place: String.Index, message: String, hint: String) -> Finding in
        var position = TextPosition(of: 0, in: [])
        position.line = index + 1
        position.column = line.utf8.distance(from: line.startIndex, to: place) + 1
        return Finding(PushRule(APNsRule.legacy), "", message, hint: hint, position: position)
      }
      for trace in traces {
        if let word = trace.unless, line.contains(word) { continue }
        guard trace.among.isEmpty || trace.among.contains(where: line.contains) else { continue }
        if let place = word(trace.pattern, in: line) { findings.append(add(place, trace.message, trace.hint)) }
      }
      guard limitWords.contains(where: line.contains) else { continue }
      for limit in ["256", "2048"] {
        guard let place = word(limit, in: line) else { continue }
        let since = limit == "256" ? "iOS 8 (2014)" : "the HTTP/2 interface (2015)"
        findings.append(
          add(
            place, "\(limit) bytes was the limit of the binary interface; it is larger since \(since)",
            "use 4096 bytes, or 5120 for voip and broadcasts"))
      }
    }
    return findings
  }

  /// Returns the position of the pattern as a whole word or number, not as a part of a longer one.
  private static func word(_ pattern: String, in line: String) -> String.Index? {
    var rest = line[...]
    while let found = rest.firstRange(of: pattern) {
      let before = found.lowerBound == line.startIndex ? nil : line[line.index(before: found.lowerBound)]
      let after = found.upperBound == line.endIndex ? nil : line[found.upperBound]
      if !isInWord(before), !isInWord(after) { return found.lowerBound }
      rest = line[found.upperBound...]
    }
    return nil
  }

  private static func isInWord(_ character: Character?) -> Bool {
    guard let character else { return false }
    return character.isLetter || character.isNumber
  }
}
