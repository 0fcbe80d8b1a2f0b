import APNsSimulator
import CommandSupport
import Foundation

/// A list of signing keys for a simulator, in JSON.
enum SimulatorKeyFile {
  static let hint = #"""
    a list of keys looks like: [{"keyID":"ABC123DEFG","teamID":"DEF123GHIJ","file":"AuthKey_ABC123DEFG.p8",
    "topics":["com.example.app"],"environment":"sandbox","related":["OTHERKEY01"]}]; the last three are optional
    """#

  static func load(_ path: String) throws -> [SimulatorConfiguration.Key] {
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
    do {
      return try SimulatorKeyList.read(try contents(path)) { file in
        String(decoding: try contents(URL(fileURLWithPath: file, relativeTo: folder).path), as: UTF8.self)
      }
    } catch let error as DecodingError {
      throw CommandError(.input, "\(path) is not a list of keys: \(error)", hint: hint)
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
