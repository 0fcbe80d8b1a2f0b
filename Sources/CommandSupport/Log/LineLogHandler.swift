import Glibc
package import Logging
import PushCore

/// A log handler that writes each entry to standard error as one line: text for people, or a JSON object for machines.
/// ``LogSettings`` decides for each entry whether and how it is written. No line contains a device token.
package struct LineLogHandler: LogHandler {
  /// The metadata key with the name of the event. Only JSON lines contain it; in text lines the message describes the
  /// event.
  package static let eventKey = "event"

  package var metadata: Logger.Metadata = [:]
  /// The source of the entries, the first part of the label.
  private let source: String
  /// The module of the entries, the second part of the label.
  private let module: String
  /// The level that was set for this logger; `nil` if the level of its module applies.
  private var ownLevel: Logger.Level?

  /// - Parameter label: `source`, or `source/module`.
  init(label: String) {
    let words = label.split(separator: "/", maxSplits: 1)
    source = words.first.map(String.init) ?? label
    module = words.last.map(String.init) ?? label
  }

  package var logLevel: Logger.Level {
    get { ownLevel ?? LogSettings.shared.level(of: module) }
    set { ownLevel = newValue }
  }

  package func log(event: LogEvent) {
    StandardError.write(line(event.level, "\(event.message)", metadata.merging(event.metadata ?? [:]) { $1 }))
  }

  /// Returns a line that reports how many lines were dropped before it.
  static func notice(dropped count: Int) -> String {
    LineLogHandler(label: "log").line(
      .warning,
      "dropped \(count) log \(count == 1 ? "line" : "lines"): the reader of standard error is too slow or gone",
      [eventKey: "linesDropped", "lines": .stringConvertible(count)])
  }

  /// Returns one entry as a line.
  private func line(_ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata) -> String {
    let sorted = metadata.sorted { $0.key < $1.key }
    var now = timespec()
    // clock_gettime(3) can't fail for CLOCK_REALTIME.
    clock_gettime(CLOCK_REALTIME, &now)
    let time = Timestamp.format(milliseconds: Int(now.tv_sec) * 1000 + Int(now.tv_nsec) / 1_000_000)
    let scrubber = LogSettings.shared.scrubber
    return LogSettings.shared.isJSON
      ? jsonLine(time, level, message, sorted, scrubber) : scrubber.scrub(textLine(time, level, message, sorted))
  }

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  private func textLine(
    _ time: String, _ level: Logger.Level, _ message: String, _ metadata: [(key: String, value: Logger.MetadataValue)]
  ) -> String {
    let label = module == source ? source : "\(source)/\(module)"
    var line = "\(time) \(level.rawValue) \(label): \(Self.oneLine(message))"
    for (key, value) in metadata where key != Self.eventKey {
      let text = Self.oneLine("\(value)")
      line += " \(key)=" + (text.contains(" ") || text.isEmpty ? "\"\(text)\"" : text)
    }
    return line + "\n"
  }

  private func jsonLine(
    _ time: String, _ level: Logger.Level, _ message: String, _ metadata: [(key: String, value: Logger.MetadataValue)],
    _ scrubber: TokenScrubber
  ) -> String {
    var json = JSONWriter()
    json.beginObject()
    json.member("at", time)
    json.member("level", level.rawValue)
    json.member("source", source)
    json.member("module", module)
    json.member("message", scrubber.scrub(message))
    for (key, value) in metadata {
      if case .stringConvertible(let number as Int) = value {
        json.member(key, number)
      } else {
        json.member(key, scrubber.scrub("\(value)"))
      }
    }
    json.endObject()
    json.endLine()
    return json.text
  }

  /// Returns a text on one line. Text from outside must not create log lines or control a terminal.
  private static func oneLine(_ text: String) -> String { Excerpt.harmless(text) }
}
