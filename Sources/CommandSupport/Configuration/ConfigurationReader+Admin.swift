import PushCore

/// The section `admin`.
extension ConfigurationReader {
  /// - Returns: `nil` where it says nowhere to listen: then no port is opened.
  func readAdmin(_ section: ConfigurationSection) throws(ConfigurationError) -> CarillonConfiguration.Admin? {
    guard !section.keys.isEmpty else { return nil }
    let text = try section.required("listen", hint: "such as 127.0.0.1:8080, or [::1]:8080")
    guard let listen = ListenAddress(text) else {
      throw section.error(
        "listen", "\(Excerpt.quoted(text)) is not ADDRESS:PORT",
        hint: "the address in numbers: 127.0.0.1:8080, [::1]:8080, 0.0.0.0:8080; port 0 lets the system choose")
    }
    return CarillonConfiguration.Admin(
      listen: listen, tokenFile: try section.string("tokenFile").map(resolve),
      tls: section.has("tls") ? try readTLS(try section.section("tls", schema: "admin.tls")) : nil)
  }

  private func readTLS(_ section: ConfigurationSection) throws(ConfigurationError) -> CarillonConfiguration.AdminTLS {
    CarillonConfiguration.AdminTLS(
      certificate: resolve(try section.required("certificate", hint: "a PEM file; leave tls out behind a proxy")),
      key: resolve(try section.required("key", hint: "a PEM file with the key of the certificate")))
  }
}
