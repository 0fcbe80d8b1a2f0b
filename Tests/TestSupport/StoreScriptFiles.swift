import Foundation

/// The Lua files of `Sources/CampaignStore`, from the folder `Scripts` of each of its subfolders.
public enum StoreScriptFiles {
  /// Returns the source of each file by its name without the extension.
  public static func sources() throws -> [String: String] {
    let store = URL(filePath: #filePath).appending(path: "../../../Sources/CampaignStore").standardized
    var sources: [String: String] = [:]
    for path in try FileManager.default.subpathsOfDirectory(atPath: store.path) where path.hasSuffix(".lua") {
      let file = store.appending(path: path)
      sources[file.deletingPathExtension().lastPathComponent] = try String(contentsOf: file, encoding: .utf8)
    }
    return sources
  }
}
