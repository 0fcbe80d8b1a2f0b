import PushCore
import PushTransport
import ServiceTools

/// Output of `send`: one push, its findings, and the answer of the service.
struct SendReport {
  let push: SinglePush
  let findings: [Finding]

  /// The findings, followed by the request as it is sent.
  var request: String {
    var lines = findings.map { "! \(FindingText.line($0))" }
    lines.append("> POST \(push.url)")
    lines += push.shownHeaders.map { "> \($0.name): \($0.value)" }
    lines += [
      ">", "> " + String(decoding: push.prepared.shownBody, as: UTF8.self), "> (\(push.prepared.body.count) bytes)",
    ]
    return lines.map(Excerpt.harmless).joined(separator: "\n")
  }

  /// The last line of the output after a dry run, which sends nothing.
  var end: String {
    let errors = findings.filter { $0.rule.severity == .error }.count
    return errors == 0
      ? "no push was sent; the push breaks no rule"
      : "no push was sent; the push breaks \(errors) rule\(errors == 1 ? "" : "s")"
  }

  /// Returns the answer with all headers and its meaning.
  func response(_ outcome: SinglePush.Outcome) -> String {
    let response = outcome.response
    let answer = push.tools.answer(response)
    var lines = ["< \(response.status)" + (answer.reasonText.map { " " + $0 } ?? "")]
    lines += response.headers.map { "< \($0.name): \($0.value)" }
    if !response.body.isEmpty {
      lines.append("<")
      // The JSON in an answer may have several lines.
      lines += response.body.split(separator: UInt8(ascii: "\n")).map { "< " + String(decoding: $0, as: UTF8.self) }
    }
    if let since = since(answer) { lines.append("< since \(since)") }
    lines += [
      "", answer.meaning, "  " + answer.hint,
      "after \(outcome.duration.wholeMilliseconds) ms, including the connection setup",
    ]
    return lines.map(Excerpt.harmless).joined(separator: "\n")
  }

  /// Returns the request, the findings and the answer as one JSON object. An outcome of `nil` means a dry run.
  func json(_ outcome: SinglePush.Outcome?) -> String {
    var json = JSONWriter()
    json.beginObject()
    json.name("request")
    json.beginObject()
    write(to: &json)
    json.endObject()
    json.name("findings")
    FindingText.write(findings, to: &json)
    json.member("sent", outcome != nil)
    if let outcome { write(outcome, to: &json) }
    json.endObject()
    return json.text
  }

  /// Writes the request as members of an object.
  func write(to json: inout JSONWriter) {
    json.member("method", "POST")
    json.member("url", push.url)
    json.name("headers")
    write(push.shownHeaders, to: &json)
    json.name("payload")
    json.raw(push.prepared.shownBody)
  }

  private func write(_ outcome: SinglePush.Outcome, to json: inout JSONWriter) {
    let response = outcome.response
    let answer = push.tools.answer(response)
    json.name("response")
    json.beginObject()
    json.member("status", Int(response.status))
    json.name("headers")
    write(response.headers, to: &json)
    json.member("reason", answer.reasonText)
    json.member("timestamp", since(answer))
    json.endObject()
    json.member("accepted", answer.isAccepted)
    json.member("meaning", answer.meaning)
    json.member("hint", answer.hint)
    json.member("milliseconds", outcome.duration.wholeMilliseconds)
  }

  /// Writes the headers as an object. A name may occur several times, so the values of equal names are joined with
  /// commas.
  private func write(_ headers: [HTTPExchange.Header], to json: inout JSONWriter) {
    json.beginObject()
    var written: Set<String> = []
    for header in headers where written.insert(header.name).inserted {
      json.member(header.name, headers.filter { $0.name == header.name }.map(\.value).joined(separator: ", "))
    }
    json.endObject()
  }

  private func since(_ answer: ServiceAnswer) -> String? {
    guard answer.timestamp > 0 else { return nil }
    return Timestamp.format(milliseconds: Int(clamping: answer.timestamp))
  }
}
