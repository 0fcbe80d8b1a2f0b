import PushCore
import TLS

@testable import FCM

/// Service accounts for tests, with one RSA key for all of them, because a new key takes some 100 ms.
enum AccountKit {
  static let key: RSAPrivateKey = {
    do { return try RSAPrivateKey.generate() } catch { fatalError("\(error)") }
  }()

  /// Returns a key file.
  ///
  /// - Parameter changes: fields to replace; `nil` removes the field.
  static func json(_ changes: [String: String?] = [:]) -> [UInt8] {
    var fields: [(String, String)] = [
      ("type", "service_account"), ("project_id", "demo-project"), ("private_key_id", "0123456789abcdef"),
      ("private_key", key.pem), ("client_email", "push@demo-project.iam.gserviceaccount.com"),
      ("token_uri", "https://oauth2.googleapis.com/token"), ("universe_domain", "googleapis.com"),
    ]
    for (name, value) in changes {
      fields.removeAll { $0.0 == name }
      if let value { fields.append((name, value)) }
    }
    return Array(JSONWriter.object { json in for (name, value) in fields { json.member(name, value) } }.utf8)
  }

  /// Returns an account that uses a token endpoint of this machine.
  static func account(port: UInt16) throws -> ServiceAccount {
    try ServiceAccount(json: json(["token_uri": "http://127.0.0.1:\(port)/token"]))
  }

  /// Returns header and claims of an assertion as JSON texts, the signed text, and the signature.
  static func parts(of jwt: String) -> (header: String, claims: String, signed: [UInt8], signature: [UInt8])? {
    let parts = jwt.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Base64.decodeLeniently(parts[0].utf8),
      let claims = Base64.decodeLeniently(parts[1].utf8), let signature = Base64.decodeLeniently(parts[2].utf8)
    else { return nil }
    return (
      String(decoding: header, as: UTF8.self), String(decoding: claims, as: UTF8.self),
      Array("\(parts[0]).\(parts[1])".utf8), signature
    )
  }
}
