import APNsSimulator
import CommandSupport
import Foundation

/// A list of signing keys for a simulator, in JSON.
enum SimulatorKeyFile {
  private struct Entry: Decodable {
    var keyID: String
    var teamID: String
    /// PEM, relative to the list.
    var file: String
    var topics: [String]?
    var environment: SimulatorEnvironment?
    var related: [String]?
  }

  static let hint = #"""
    a list of keys is such as [{"keyID":"ABC123DEFG","teamID":"DEF123GHIJ","file":"AuthKey_ABC123DEFG.p8",
    "topics":["com.example.app"],"environment":"sandbox","related":["OTHERKEY01"]}]; the last three may be left out
    """#

  static func load(_ path: String) throws -> [SimulatorConfiguration.Key] {
    let text = try contents(path)
    let entries: [Entry]
    do {
      entries = try JSONDecoder().decode([Entry].self, from: Data(text))
    } catch {
      throw CommandError(.input, "\(path) is not a list of keys: \(error)", hint: hint)
    }
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
    return try entries.map { entry in
      let file = URL(fileURLWithPath: entry.file, relativeTo: folder).path
      return SimulatorConfiguration.Key(
        keyID: entry.keyID, teamID: entry.teamID, pem: String(decoding: try contents(file), as: UTF8.self),
        topics: entry.topics, environment: entry.environment, related: entry.related ?? [])
    }
  }

  private static func contents(_ path: String) throws -> [UInt8] {
    do {
      return try InputFile.contents(path, limit: 1 << 20)
    } catch {
      throw CommandError(.input, "\(error.path): \(error.reason)", hint: hint)
    }
  }
}
