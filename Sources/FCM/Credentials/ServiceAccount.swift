internal import PushCore
public import TLS

/// A service account of Google with its private key, as read from the JSON key file.
///
/// Source: Google Cloud, "Create and delete service account keys"; google-auth-library-python,
/// `google/oauth2/service_account.py`.
public struct ServiceAccount: Sendable {
  /// Token endpoint for a key file that names none.
  public static let defaultTokenURI = "https://oauth2.googleapis.com/token"
  /// The only accepted value of `universe_domain` in a key file, because Carillon knows the endpoints of this universe
  /// only. Other universes are separate clouds of Google.
  static let universe = "googleapis.com"
  /// Maximum nesting of a key file. Real key files are flat objects.
  private static let maximumDepth = 8

  /// `project_id`: the project of the account. The project of the app may be another one.
  public let projectID: String
  /// `client_email`: the account's name, the issuer of its assertions.
  public let clientEmail: String
  /// `token_uri`: the URL at which access tokens are requested.
  public let tokenURI: String
  /// `private_key_id`: identifies the key among the keys of the account.
  public let keyID: String
  /// `private_key`: the key that signs the assertions.
  let key: RSAPrivateKey

  /// Reads a key file.
  ///
  /// - Throws: ``ServiceAccountError``, which names the file. A file that every user can read is an error.
  public init(contentsOf path: String) throws(ServiceAccountError) {
    let bytes: [UInt8]
    do throws(SecretFileError) {
      bytes = try SecretFile.read(path)
    } catch {
      throw ServiceAccountError(file: path, problem: .file(error.problem))
    }
    try self.init(json: bytes, file: path)
  }

  /// Reads a key from the bytes of its file.
  ///
  /// - Parameter file: the file name in errors.
  public init(json: [UInt8], file: String = "the service account's key") throws(ServiceAccountError) {
    do throws(ServiceAccountProblem) {
      try self.init(fields: Self.fields(of: Self.plain(json)))
    } catch {
      throw ServiceAccountError(file: file, problem: error)
    }
  }

  private init(fields: [JSONValue.Member]) throws(ServiceAccountProblem) {
    try Self.checkType(fields)
    if let universe = try Self.text("universe_domain", in: fields), universe != Self.universe {
      throw .otherUniverse(universe)
    }
    projectID = try Self.required("project_id", in: fields)
    // The id becomes part of the path of every push.
    guard projectID.utf8.allSatisfy(Self.isPlain) else { throw .malformed("project_id", projectID) }
    clientEmail = try Self.required("client_email", in: fields)
    keyID = try Self.required("private_key_id", in: fields)
    tokenURI = try Self.text("token_uri", in: fields) ?? Self.defaultTokenURI
    guard TokenEndpoint(tokenURI) != nil else { throw .malformed("token_uri", tokenURI) }
    let pem = try Self.required("private_key", in: fields)
    do throws(SigningKeyError) {
      key = try RSAPrivateKey(pem: Array(pem.utf8))
    } catch {
      throw .key(error.problem)
    }
  }

  // MARK: Fields

  /// Returns the JSON of a key file. Decodes the bytes first if they are Base64, which some secret stores add.
  private static func plain(_ bytes: [UInt8]) -> [UInt8] {
    let letters = bytes.filter { !isBlank($0) }
    guard letters.first != UInt8(ascii: "{"), let decoded = Base64.decodeLeniently(letters),
      decoded.first(where: { !isBlank($0) }) == UInt8(ascii: "{")
    else { return bytes }
    return decoded
  }

  private static func fields(of json: [UInt8]) throws(ServiceAccountProblem) -> [JSONValue.Member] {
    let value: JSONValue
    do throws(JSONSyntaxError) {
      value = try JSONValue(parsing: json, maximumDepth: maximumDepth)
    } catch {
      let text = String(decoding: json, as: UTF8.self)
      if text.contains("PRIVATE KEY-----\n") || text.contains("PRIVATE KEY-----\r") {
        throw json.first { !isBlank($0) } == UInt8(ascii: "{") ? .realLineBreaks : .onlyPEM
      }
      // The text of the syntax error could quote the key, so only the position is reported.
      throw .notJSON(line: error.line, column: error.column)
    }
    guard case .object(let members) = value.kind else { throw .notAnObject(value.kindName) }
    return members
  }

  private static func checkType(_ fields: [JSONValue.Member]) throws(ServiceAccountProblem) {
    guard let type = try text("type", in: fields) else {
      // People confuse two other files with the key file: `google-services.json` of an Android app, and the file of an
      // OAuth client.
      if fields.value("project_info") != nil { throw .appConfiguration }
      if fields.value("installed") != nil || fields.value("web") != nil { throw .wrongType("OAuth client") }
      throw .missing("type")
    }
    guard type == "service_account" else { throw .wrongType(type) }
  }

  private static func required(
    _ name: String, in fields: [JSONValue.Member]
  ) throws(ServiceAccountProblem) -> String {
    guard let text = try text(name, in: fields), !text.isEmpty else { throw .missing(name) }
    return text
  }

  private static func text(_ name: String, in fields: [JSONValue.Member]) throws(ServiceAccountProblem) -> String? {
    guard let value = fields.value(name) else { return nil }
    guard case .string(let text) = value.kind else { throw .notText(name, value.kindName) }
    return text
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"):
      true
    default: false
    }
  }
}

extension ServiceAccount: Equatable {
  /// Compares the fields and the private keys.
  public static func == (left: ServiceAccount, right: ServiceAccount) -> Bool {
    left.projectID == right.projectID && left.clientEmail == right.clientEmail && left.tokenURI == right.tokenURI
      && left.keyID == right.keyID && left.key.publicPEM == right.key.publicPEM
  }
}
