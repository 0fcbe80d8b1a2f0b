internal import COpenSSL

/// OpenSSL's old ciphers, such as the RC2 with 40 bits that Keychain encrypts certificates with.
///
/// In a library context of their own (OSSL_LIB_CTX(3)), for as long as one file is read: a provider loaded into the
/// default context would offer them to the whole process.
final class LegacyProvider {
  /// To be passed to OpenSSL's functions instead of the default context, while this object lives.
  let context: OpaquePointer
  private let providers: [OpaquePointer]

  /// - Returns: `nil` when the provider is not installed.
  init?() {
    guard let context = OSSL_LIB_CTX_new() else { return nil }
    // OSSL_PROVIDER_load(3): a context into which one was loaded doesn't load the default provider by itself any more.
    let names = ["default", "legacy"]
    let providers = names.compactMap { name in name.withCString { OSSL_PROVIDER_load(context, $0) } }
    self.context = context
    self.providers = providers
    ERR_clear_error()
    // `deinit` runs for what is returned as nil from here on: every property is set.
    guard providers.count == 2 else { return nil }
  }

  deinit {
    for provider in providers { OSSL_PROVIDER_unload(provider) }
    OSSL_LIB_CTX_free(context)
  }
}
