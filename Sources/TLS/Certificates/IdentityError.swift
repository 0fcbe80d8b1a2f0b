/// Reason why a client identity can't be used, with a hint.
public typealias IdentityError = CredentialFileError<IdentityProblem>

/// Problem with a client identity.
public enum IdentityProblem: CredentialFileProblem {
  /// The file or its passphrase file can't be read, or too many users can read it.
  case file(SecretFileProblem)
  /// The file is neither PKCS#12 nor PEM.
  case unknownFormat
  /// The file is not PEM, which is required here.
  case notPEM
  /// The file has a certificate, but no private key.
  case noKey
  /// The file has a private key, but no certificate.
  case noCertificate
  /// None of the certificates belongs to the key.
  case mismatch
  /// The file is encrypted, and no passphrase was given.
  case passphraseMissing
  /// The passphrase is wrong.
  case wrongPassphrase
  /// The file is encrypted with RC2 or a similar cipher, as Keychain does. OpenSSL's legacy provider, which can read
  /// it, is not installed.
  case legacyProviderMissing
  /// OpenSSL can't read the file; the text is OpenSSL's.
  case damaged(String)

  public var reason: String {
    switch self {
    case .file(let problem): problem.reason
    case .unknownFormat: "is neither PKCS#12 nor PEM"
    case .notPEM: "is not PEM"
    case .noKey: "has a certificate, but no private key"
    case .noCertificate: "has a private key, but no certificate"
    case .mismatch: "the private key belongs to none of the certificates in the file"
    case .passphraseMissing: "is encrypted, but no passphrase was given"
    case .wrongPassphrase: "the passphrase is wrong"
    case .legacyProviderMissing:
      "is encrypted with RC2 or another old cipher, as Keychain exports are, and OpenSSL's legacy provider is not installed"
    case .damaged(let reason): "is damaged or has a format that OpenSSL does not support: \(reason)"
    }
  }

  public func hint(for file: String) -> String {
    switch self {
    case .file(let problem): problem.hint(for: file)
    case .unknownFormat:
      "a .cer file from Apple does not contain the key: export certificate and key together from Keychain as .p12"
    case .notPEM: "print its contents: openssl x509 -in FILE -noout -text, or openssl pkey -in FILE -noout -text"
    case .noKey: "in Keychain select certificate and key together, then export; in PEM append the key to the file"
    case .noCertificate: "append the certificate; convert Apple's .cer file to PEM: openssl x509 -inform DER -in FILE"
    case .mismatch: "export the certificate again, with the key of its signing request"
    case .passphraseMissing: "write the passphrase into a separate file and set passphraseFile to its path"
    case .wrongPassphrase:
      "test the passphrase: openssl pkcs12 -legacy -info -noout -in FILE -passin file:PASSPHRASEFILE"
    case .legacyProviderMissing:
      "install it (Debian 13: openssl-provider-legacy; Debian 12, Ubuntu: part of libssl3), or convert the file on a "
        + "machine that has it: openssl pkcs12 -legacy -in OLD -nodes | openssl pkcs12 -export -out NEW"
    case .damaged: "print its contents: openssl pkcs12 -legacy -info -noout -in FILE; then export it again"
    }
  }
}
