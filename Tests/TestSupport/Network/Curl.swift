/// Requests that the program `curl` sends.
public enum Curl {
  /// Sends a request and waits for the whole answer.
  ///
  /// - Parameter options: further options of curl, such as `--request`.
  /// - Throws: `TestSupportError` if curl gets no answer.
  public static func get(_ url: String, _ options: String...) async throws -> (status: Int, text: String) {
    try await ask(url, options)
  }

  /// Like ``get(_:_:)``, with an array of options.
  public static func ask(_ url: String, _ options: [String]) async throws -> (status: Int, text: String) {
    let output = try await ChildProcess.run(
      "curl", ["--silent", "--show-error", "--globoff", "--write-out", "\n%{http_code}"] + options + [url])
    guard output.exit == .status(0) else { throw TestSupportError("curl \(url): \(output.standardError)") }
    var lines = output.standardOutput.split(separator: "\n", omittingEmptySubsequences: false)
    if lines.last?.isEmpty == true { lines.removeLast() }
    return (Int(lines.last ?? "") ?? 0, lines.dropLast().joined(separator: "\n"))
  }
}

extension ChildProcess {
  /// Waits until the program reports the URL of its HTTP server on standard error (`carillon --json`).
  ///
  /// - Throws: `TestSupportError` if it ends before.
  public func listeningURL() async throws -> String {
    guard let line = await errorLine(containing: #""event":"listening""#), let url = try JSONObject(line).text("url")
    else { throw TestSupportError("the program does not listen") }
    return url
  }
}
