/// A list of signing keys for a simulator, in JSON, each with the path of its PEM file.
public enum SimulatorKeyList {
  private struct Entry: Decodable {
    var keyID: String
    var teamID: String
    var file: String
    var topics: [String]?
    var environment: SimulatorEnvironment?
    var related: [String]?
  }

  /// Reads `[{"keyID":"…","teamID":"…","file":"…","topics":[…],"environment":"…","related":[…]}]`. The last three
  /// fields are optional.
  ///
  /// - Parameters:
  ///   - json: the list.
  ///   - contents: returns the PEM of a file in the list.
  /// - Throws: a `DecodingError` for invalid text, and errors of `contents`.
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
