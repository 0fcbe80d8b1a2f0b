internal import PushCore
public import TLS

/// Reason why a service account's key can't be used, with a hint.
public typealias ServiceAccountError = CredentialFileError<ServiceAccountProblem>

/// Problem with a service account's key file. No text of a problem contains a part of the private key.
public enum ServiceAccountProblem: CredentialFileProblem {
  /// The file can't be read, or too many users can read it.
  case file(SecretFileProblem)
  /// The text is not JSON. Line and column are the position of the error.
  case notJSON(line: Int, column: Int)
  /// The private key contains real line breaks, which JSON does not allow in a string.
  case realLineBreaks
  /// The text is the private key alone, in PEM.
  case onlyPEM
  /// The JSON is not an object, but a value of this kind.
  case notAnObject(String)
  /// The file is `google-services.json`, which is part of an Android app.
  case appConfiguration
  /// The field `type` has this value, which means another type of credential.
  case wrongType(String)
  /// This field is missing or empty.
  case missing(String)
  /// The value of this field is not a string, but a value of this kind.
  case notText(String, String)
  /// This field has this impossible value.
  case malformed(String, String)
  /// The private key can't be used.
  case key(SigningKeyProblem)
  /// The account belongs to this other cloud of Google.
  case otherUniverse(String)

  public var reason: String {
    switch self {
    case .file(let problem): problem.reason
    case .notJSON(let line, let column): "not JSON: error in line \(line), column \(column)"
    case .realLineBreaks: "private_key has real line breaks, which JSON does not allow in a string"
    case .onlyPEM: "it has only a private key in PEM, without the account"
    case .notAnObject(let kind): "it has \(kind) instead of a JSON object"
    case .appConfiguration: "it is google-services.json, the configuration of an Android app"
    case .wrongType(let type): "type is \(Excerpt.quoted(type)), not 'service_account'"
    case .missing(let field): "the field \(field) is missing or empty"
    case .notText(let field, let kind): "the field \(field) has \(kind) instead of a string"
    case .malformed("token_uri", let value):
      "token_uri is \(Excerpt.quoted(value)), not a URL that begins with https://"
    case .malformed(let field, let value): "\(field) is \(Excerpt.quoted(value)), which is not valid"
    case .key(let problem): "private_key: \(problem.reason)"
    case .otherUniverse(let universe): "universe_domain is \(Excerpt.quoted(universe)), not 'googleapis.com'"
    }
  }

  public func hint(for file: String) -> String {
    switch self {
    case .file(let problem): problem.hint(for: file)
    case .notJSON: "download the key again, or restore the file from a copy: \(Self.place)"
    case .realLineBreaks: "write each as \\n, or copy the JSON file as a whole: \(Self.place)"
    case .wrongType("authorized_user"):
      "this is the login of a person (gcloud auth); make a key of a service account: \(Self.place)"
    case .wrongType("external_account"):
      "Workload Identity Federation is not supported; use the metadata server or a key: \(Self.place)"
    case .key(.tooShort), .key(.notRSA), .onlyPEM, .notAnObject, .appConfiguration, .wrongType, .missing, .notText,
      .malformed:
      "use the unchanged JSON file that Google generates: \(Self.place)"
    case .key: "copy the JSON file as a whole; private_key must keep its \\n: \(Self.place)"
    case .otherUniverse: "use a service account of Google Cloud (googleapis.com)"
    }
  }

  /// Page on which a person creates a key.
  private static let place = "Firebase console, Project settings, Service accounts, Generate new private key"
}
