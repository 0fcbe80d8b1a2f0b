internal import COpenSSL

/// OpenSSL's old ciphers, such as the 40-bit RC2 with which Keychain encrypts certificates.
///
/// The ciphers are available in a separate library context (OSSL_LIB_CTX(3)) while one file is read. In the default
/// context, the old ciphers would be available to the whole process.
final class LegacyProvider {
  /// Context to pass to OpenSSL's functions instead of the default one. Valid as long as this object.
  let context: OpaquePointer
  private let providers: [OpaquePointer]

  /// - Returns: `nil` if the provider is not installed.
  init?() {
    guard let context = OSSL_LIB_CTX_new() else { return nil }
    // OSSL_PROVIDER_load(3): a context with a loaded provider no longer loads the default provider automatically.
    let names = ["default", "legacy"]
    let providers = names.compactMap { name in name.withCString { OSSL_PROVIDER_load(context, $0) } }
    self.context = context
    self.providers = providers
    ERR_clear_error()
    // If nil is returned from here on, `deinit` runs, because every property is set.
    guard providers.count == 2 else { return nil }
  }

  deinit {
    for provider in providers { OSSL_PROVIDER_unload(provider) }
    OSSL_LIB_CTX_free(context)
  }
}
