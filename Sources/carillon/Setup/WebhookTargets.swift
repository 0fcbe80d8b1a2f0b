import CommandSupport
import PushTransport
import TLS

extension CarillonConfiguration {
  /// Returns the webhooks with their secrets.
  ///
  /// - Throws: ``CommandError`` that names the key and the file.
  func webhookTargets() throws(CommandError) -> [Webhook] {
    var targets: [Webhook] = []
    for (name, webhook) in webhooks.sorted(by: { $0.key < $1.key }) {
      let secret: [UInt8]
      do throws(SecretFileError) {
        secret = try SecretFile.passphrase(webhook.secretFile)
      } catch {
        throw CommandError(
          .configuration, "webhooks.\(name).secretFile: \(error.file): \(error.reason)", hint: error.hint)
      }
      guard secret.count >= Self.shortestSecret else {
        throw CommandError(
          .configuration,
          "webhooks.\(name).secretFile: \(webhook.secretFile): the secret is shorter than \(Self.shortestSecret) bytes",
          hint: "create a secret: openssl rand -hex 32 > \(webhook.secretFile)")
      }
      targets.append(
        Webhook(
          name: name, url: webhook.url, secret: secret, kinds: webhook.kinds, allowsPrivate: webhook.allowsPrivate,
          trustRoots: webhook.trustRoots))
    }
    return targets
  }

  /// Minimum length of a secret in bytes. A shorter secret could be guessed.
  private static let shortestSecret = 16
}
