@testable import CampaignStore
import PushCore
import Redis

/// Contents of a store as lines of text. Unprintable bytes become `\xNN`. Values that differ between runs become the
/// name of their kind.
struct StoreDump {
  let world: TestStore
  /// Random texts of the run, with their replacements.
  let names: [String: String]

  func lines() async throws -> [String] {
    let prefix = "{\(world.keys.namespace)"
    let names = try await world.keyNames("\(prefix)*")
    var lines: [String] = []
    for name in names.sorted() {
      let type = try await world.command("TYPE", name).string ?? ""
      let title = "{ns" + name.dropFirst(prefix.count)
      lines += try await content(of: name, type).map { "\(title) \(type) \($0)" }
    }
    return lines
  }

  private func content(of name: String, _ type: String) async throws -> [String] {
    // A notice begins with the time in six bytes, an entry of a timeline with the time as text. The last record of the
    // ledger ends in a time.
    let cut = name.hasSuffix(":outbox") || name.hasSuffix(":quarantine") ? 6 : name.contains(":timeline:") ? 13 : 0
    let end = name.contains(":ledger:") ? -7 : -1
    switch type {
    case "string": return [text(try await world.command("GETRANGE", name, 0, end))]
    case "list": return try await world.command("LRANGE", name, 0, -1).map { text($0, after: cut) }
    case "set": return try await world.command("SMEMBERS", name).map { text($0) }.sorted()
    case "hash" where name.hasSuffix(":pressure"):
      // The value contains times.
      let pairs = try await world.command("HGETALL", name)
      return stride(from: 0, to: pairs.count, by: 2).map {
        "\(text(pairs[$0])) = \(UserPressure(Array(pairs[$0 + 1].bytes ?? [])).text)"
      }.sorted()
    case "hash":
      let pairs = try await world.command("HGETALL", name)
      return stride(from: 0, to: pairs.count, by: 2).map { "\(text(pairs[$0])) = \(text(pairs[$0 + 1], after: cut))" }
        .sorted()
    case "zset":
      let pairs = try await world.command("ZRANGE", name, 0, -1, "WITHSCORES")
      return stride(from: 0, to: pairs.count, by: 2).map { "\(text(pairs[$0])) at \(text(pairs[$0 + 1]))" }.sorted()
    default:
      return try await world.command("XRANGE", name, "-", "+").map { entry in
        entry[1].map { text($0) }.joined(separator: " | ")
      }
    }
  }

  /// Returns the bytes as text, with unprintable bytes as `\xNN`.
  static func plain(_ bytes: [UInt8]) -> String {
    var text = ""
    for byte in bytes {
      let isPlain = (0x20..<0x7F).contains(byte) && byte != UInt8(ascii: "\\")
      text += isPlain ? String(UnicodeScalar(byte)) : "\\x" + String(decoding: Hex.encode([byte]), as: UTF8.self)
    }
    return text
  }

  private func text(_ reply: RedisReply, after cut: Int = 0) -> String {
    let bytes = Array((reply.bytes ?? []).dropFirst(cut))
    // A time of the real clock, in ms. Times of the scenario are small.
    if let number = reply.integer, number > 1_700_000_000_000 { return "<ms>" }
    var text = Self.plain(bytes)
    for (name, replacement) in names { text = text.replacing(name, with: replacement) }
    return text
  }
}
