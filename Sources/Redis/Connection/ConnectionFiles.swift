import TLS

/// Present contents of the files that a connection needs. Reading them blocks the thread.
struct ConnectionFiles: Sendable {
  /// Password for the login; `nil` for none.
  var password: String?
  /// TLS settings; `nil` for plain TCP.
  var tls: TLSPeer?

  /// Reads the files.
  ///
  /// - Parameter url: the URL of Redis. Its password takes precedence over the password in a file.
  init(url: RedisURL, options: RedisOptions) throws(RedisError) {
    password = try Self.password(url: url, file: options.passwordFile)
    guard url.isTLS else { return }
    tls = TLSPeer(
      context: try Self.context(options.tls, endpoint: url.endpoint),
      serverName: options.tls.serverName ?? url.addresses[0].host)
  }

  private static func password(url: RedisURL, file: String?) throws(RedisError) -> String? {
    if let password = url.password { return password }
    guard let file else { return nil }
    do throws(SecretFileError) {
      let line = try SecretFile.passphrase(file)
      guard !line.isEmpty else {
        throw SecretFileError(file: file, problem: .unreadable("its first line, which is the password, is empty"))
      }
      return String(decoding: line, as: UTF8.self)
    } catch {
      throw RedisError(
        .unusableFile, "the password file \(error.file): \(error.reason)", endpoint: url.endpoint,
        hint: Hint.sentence(error.hint))
    }
  }

  private static func context(_ tls: RedisTLS, endpoint: String) throws(RedisError) -> TLSContext {
    do {
      let identity = try tls.certificate.map {
        try TLSIdentity(certificateFile: $0, keyFile: tls.key ?? $0)
      }
      return try TLSContext.client(trust: tls.trustRoots.map { .file($0) } ?? .system, identity: identity)
    } catch let error as IdentityError {
      throw RedisError(
        .unusableFile, "the client certificate, \(error.file): \(error.reason)", endpoint: endpoint,
        hint: Hint.sentence(error.hint))
    } catch {
      throw RedisError(
        .unusableFile, "\(error)", endpoint: endpoint,
        hint:
          "The trust roots are a PEM file with the certificate of the authority that signed the server's certificate.")
    }
  }
}

/// TLS settings for the connection to one server.
struct TLSPeer: Sendable {
  var context: TLSContext
  /// Name or address that its certificate must contain.
  var serverName: String
}
