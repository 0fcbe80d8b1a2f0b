/// A list of signing keys for a simulator, in JSON, each with the file that its PEM is in.
public enum SimulatorKeyList {
  private struct Entry: Decodable {
    var keyID: String
    var teamID: String
    var file: String
    var topics: [String]?
    var environment: SimulatorEnvironment?
    var related: [String]?
  }

  /// Reads `[{"keyID":"…","teamID":"…","file":"…","topics":[…],"environment":"…","related":[…]}]`; the last three may be
  /// left out.
  ///
  /// - Parameters:
  ///   - json: the list.
  ///   - contents: gives the PEM of a file that the list names.
  /// - Throws: a `DecodingError` for another text, and what `contents` throws.
  public static func read(
    _ json: [UInt8], contents: (String) throws -> String
  ) throws -> [SimulatorConfiguration.Key] {
    try JSON.read([Entry].self, from: json).map { entry in
      SimulatorConfiguration.Key(
        keyID: entry.keyID, teamID: entry.teamID, pem: try contents(entry.file), topics: entry.topics,
        environment: entry.environment, related: entry.related ?? [])
    }
  }
}
