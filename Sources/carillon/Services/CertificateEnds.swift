import APNs
import PushWorker
import Synchronization

/// When the certificates of a worker cease to be valid: of those that it uses now, as they are exchanged while it runs.
final class CertificateEnds: Sendable {
  private let channels = Mutex<[String: AppChannel]>([:])

  func use(_ channels: [String: AppChannel]) { self.channels.withLock { $0 = channels } }

  /// UNIX seconds, by app; apps with tokens have none, as signing keys don't end.
  var all: [(app: String, at: Int64)] {
    channels.withLock { channels in
      channels.sorted { $0.key < $1.key }.compactMap { name, channel in
        (channel.credential as? ClientCertificate).map { (name, $0.certificate.validity.upperBound) }
      }
    }
  }
}
