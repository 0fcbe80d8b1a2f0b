import PushCore
import ServiceTools

/// The section `admin`.
extension ConfigurationReader {
  /// Reads the section `admin`.
  ///
  /// - Returns: `nil` if the section is missing.
  func readAdmin(_ section: ConfigurationSection) throws(ConfigurationError) -> CarillonConfiguration.Admin? {
    guard !section.keys.isEmpty else { return nil }
    return CarillonConfiguration.Admin(
      listen: try readListen(section), tokenFile: try section.string("tokenFile").map(resolve),
      tls: section.has("tls") ? try readTLS(try section.section("tls", keys: schema["admin.tls"])) : nil)
  }

  private func readListen(_ section: ConfigurationSection) throws(ConfigurationError) -> ListenAddress? {
    guard let text = try section.string("listen") else { return nil }
    guard let listen = ListenAddress(text) else {
      throw section.error(
        "listen", "\(Excerpt.quoted(text)) is not ADDRESS:PORT",
        hint: "use a numeric address: 127.0.0.1:8080, [::1]:8080 or 0.0.0.0:8080; port 0 lets the system choose")
    }
    return listen
  }

  private func readTLS(_ section: ConfigurationSection) throws(ConfigurationError) -> CarillonConfiguration.AdminTLS {
    CarillonConfiguration.AdminTLS(
      certificate: resolve(try section.required("certificate", hint: "a PEM file; omit tls behind a proxy")),
      key: resolve(try section.required("key", hint: "a PEM file with the key of the certificate")))
  }
}
