/// The configuration with which the FCM side of a ``Simulator`` starts.
public struct FCMConfiguration: Sendable {
  /// A Google service account that may get access tokens from the simulator. It proves its identity by an assertion,
  /// which is a signed JSON Web Token.
  public struct Account: Sendable {
    /// The Firebase project.
    public var projectID: String
    /// `iss` of the assertions.
    public var clientEmail: String
    /// `kid` of the assertions.
    public var keyID: String
    /// The public key as PEM. The PEM of a private key is also accepted; the simulator uses only its public half.
    public var pem: String
    /// Whether the account may send messages (`cloudmessaging.messages.create`).
    public var maySend: Bool

    /// - Parameters:
    ///   - projectID: the Firebase project.
    ///   - clientEmail: `iss` of the assertions.
    ///   - keyID: `kid` of the assertions.
    ///   - pem: the public key, or a private key whose public half is used.
    ///   - maySend: whether the account may send messages.
    public init(projectID: String, clientEmail: String, keyID: String, pem: String, maySend: Bool = true) {
      self.projectID = projectID
      self.clientEmail = clientEmail
      self.keyID = keyID
      self.pem = pem
      self.maySend = maySend
    }

    /// Reads a service account's JSON key file. Only the public half of the key is used.
    ///
    /// - Throws: a `DecodingError` if a field is missing.
    public init(serviceAccount json: [UInt8]) throws {
      let file = try JSON.read(File.self, from: json)
      self.init(
        projectID: file.project_id, clientEmail: file.client_email, keyID: file.private_key_id, pem: file.private_key)
    }

    /// The fields of a key file with Google's names.
    private struct File: Decodable {
      var project_id: String
      var client_email: String
      var private_key_id: String
      var private_key: String
    }
  }

  /// The port of FCM; 0 lets the system choose.
  public var port: UInt16 = 0
  /// The port of the token endpoint; 0 lets the system choose.
  public var tokenPort: UInt16 = 0
  /// The service accounts whose assertions are accepted.
  public var accounts: [Account] = []

  /// Creates a configuration with free ports and no account.
  public init() {}
}
