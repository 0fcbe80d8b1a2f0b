package import Redis

/// How a configuration says that Redis is reached: where, as whom, and by which files.
package struct RedisAccess {
  /// Where, and as whom.
  package let url: RedisURL
  private let passwordFile: String?
  private let tls: RedisTLS

  /// - Throws: ``CommandError`` with the key that is wrong. What is in the files only shows when a connection is made.
  package init(_ redis: CarillonConfiguration.Redis) throws(CommandError) {
    var url: RedisURL
    do throws(RedisError) {
      url = try RedisURL(redis.url)
    } catch {
      throw CommandError(.configuration, "redis.url: \(error.message)", hint: error.hint)
    }
    if redis.passwordFile != nil, url.password != nil {
      throw CommandError(
        .configuration, "redis.passwordFile: redis.url has a password too", hint: "keep one of the two")
    }
    if let user = redis.user {
      guard url.user == nil else {
        throw CommandError(.configuration, "redis.user: redis.url has a user too", hint: "keep one of the two")
      }
      guard redis.passwordFile != nil || url.password != nil else {
        throw CommandError(
          .configuration, "redis.user: there is no password for it",
          hint: "name a file whose first line it is: redis.passwordFile")
      }
      url.user = user
    }
    self.url = url
    passwordFile = redis.passwordFile
    tls = RedisTLS(
      trustRoots: redis.tls?.trustRoots, certificate: redis.tls?.certificate, key: redis.tls?.key,
      serverName: redis.tls?.serverName)
  }

  /// These options, with the files of the configuration.
  package func options(_ options: RedisOptions) -> RedisOptions {
    var options = options
    options.passwordFile = passwordFile
    options.tls = tls
    return options
  }
}
