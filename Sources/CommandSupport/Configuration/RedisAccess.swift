package import Redis

/// How to connect to Redis according to the configuration: the URL, the user, and files with the password and
/// certificates.
package struct RedisAccess {
  /// The URL with the user.
  package let url: RedisURL
  private let passwordFile: String?
  private let tls: RedisTLS
  private let sentinel: SentinelOptions
  private let cluster: ClusterOptions

  /// - Throws: ``CommandError`` that names the wrong key. The content of the files is checked later, when a connection
  ///   is made.
  package init(_ redis: CarillonConfiguration.Redis) throws(CommandError) {
    var url: RedisURL
    do throws(RedisError) {
      url = try RedisURL(redis.url)
    } catch {
      throw CommandError(.configuration, "redis.url: \(error.message)", hint: error.hint)
    }
    if redis.passwordFile != nil, url.password != nil {
      throw CommandError(
        .configuration, "redis.passwordFile: redis.url has a password too", hint: "remove one of the two")
    }
    if let user = redis.user {
      guard url.user == nil else {
        throw CommandError(.configuration, "redis.user: redis.url has a user too", hint: "remove one of the two")
      }
      guard redis.passwordFile != nil || url.password != nil else {
        throw CommandError(
          .configuration, "redis.user has no password",
          hint: "set redis.passwordFile to a file with the password in its first line")
      }
      url.user = user
    }
    if url.topology != .single { url.isTLS = redis.tls != nil }
    self.url = url
    passwordFile = redis.passwordFile
    tls = redis.tls.map(RedisTLS.init) ?? RedisTLS()
    sentinel = SentinelOptions(
      user: redis.sentinel.user, passwordFile: redis.sentinel.passwordFile, tls: redis.sentinel.tls.map(RedisTLS.init))
    cluster = ClusterOptions(addresses: redis.clusterAddresses)
  }

  /// Returns a copy of the options that also contains the files that the configuration names.
  package func options(_ options: RedisOptions) -> RedisOptions {
    var options = options
    options.passwordFile = passwordFile
    options.tls = tls
    options.sentinel = sentinel
    options.cluster = cluster
    return options
  }
}

extension RedisTLS {
  fileprivate init(_ tls: CarillonConfiguration.RedisTLS) {
    self.init(trustRoots: tls.trustRoots, certificate: tls.certificate, key: tls.key, serverName: tls.serverName)
  }
}
