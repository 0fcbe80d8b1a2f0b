import CommandSupport
import Dispatch
import EventLoop
import Foundation
import Glibc
import PushCore
import PushTransport
import PushWorker
import ServiceTools
import TLS

/// The check of the connection to a push service: name resolution, connection, certificates. It sends a request only if
/// there is a proxy, and this request contains no device token.
struct NetworkCheck: Sendable {
  /// Time limit of each step, in ms.
  private static let timeout = 5000

  /// The apps that use the endpoint.
  var apps: [String]
  let endpoint: PushEndpoint
  /// The tools of the service that should answer at the endpoint.
  let tools: any PushServiceTools

  private var subject: String { "\(endpoint.url) (\(apps.joined(separator: ", ")))" }

  /// Key of the service's settings in the configuration, for hints.
  private var key: String { "apps.\(apps.count == 1 ? apps[0] : "NAME").\(tools.service.name)" }

  func findings() async -> [DoctorFinding] {
    let direct = await withCheckedContinuation { continuation in
      // Name resolution and the handshake block their thread, so they run on a separate thread.
      DispatchQueue(label: "carillon.doctor").async { continuation.resume(returning: self.direct()) }
    }
    guard let proxy = endpoint.proxy else { return direct }
    let proxied = await self.proxied(by: proxy)
    // If there is a proxy, the direct connection may be blocked on purpose, so its failure is not a problem.
    return proxied
      + direct.filter { $0.level != .problem }
      + direct.filter { $0.level == .problem }.map {
        .healthy(.network, subject, "unreachable without the proxy, possibly on purpose: \($0.text)")
      }
  }

  private func proxied(by proxy: PushEndpoint.Proxy) async -> [DoctorFinding] {
    do {
      let answer = try await HTTPExchange.perform(
        .init(method: "GET", path: "/", headers: []), at: endpoint, connectTimeout: Self.timeout,
        timeout: 2 * Self.timeout)
      return [.healthy(.network, subject, "answers through the proxy \(proxy.url) (status \(answer.status))")]
    } catch {
      return [
        .problem(
          .network, subject, "unreachable through the proxy \(proxy.url): \(error.message)",
          hint: "check \(key).proxy, and that the proxy allows CONNECT to port \(tools.ports)")
      ]
    }
  }

  private func direct() -> [DoctorFinding] {
    guard let target = EndpointAddress(url: endpoint.url) else { return [] }
    let addresses: [SocketAddress]
    do {
      addresses = try SocketAddress.resolve(host: target.host, port: UInt16(clamping: target.port))
    } catch {
      return [
        .problem(
          .network, subject, "\(CommandError(error).message)",
          hint: "check the DNS settings of this machine (/etc/resolv.conf), or the app's endpoint")
      ]
    }
    var last: DoctorFinding?
    for address in addresses.prefix(4) {
      do {
        let probe = try TLSProbe(address, host: target.host, roots: endpoint.trustRoots, timeout: Self.timeout)
        return [
          .healthy(
            .network, subject,
            "\(addresses.count) addresses; \(address.host) speaks \(probe.version), \(probe.protocolName)")
        ] + Self.findings(probe.chain, subject, now: Int64(Date().timeIntervalSince1970))
      } catch {
        last = finding(error, at: address, hasRoots: endpoint.trustRoots != nil)
      }
    }
    return last.map { [$0] } ?? []
  }

  private func finding(_ error: any Error, at address: SocketAddress, hasRoots: Bool) -> DoctorFinding {
    switch error {
    case let error as TLSError where error.certificateProblem != nil:
      return .problem(
        .network, subject, error.description,
        hint: hasRoots
          ? "add the certificate of the endpoint's issuer to trustRoots"
          : "if a firewall intercepts TLS, add its certificate to \(key).trustRoots; otherwise install ca-certificates and "
            + "check this machine's clock")
    case let error as TLSError:
      return .problem(
        .network, subject, error.description,
        hint:
          "the server at \(address) does not use TLS like \(tools.service.title); check the endpoint and firewalls")
    default:
      return .problem(
        .network, subject, "\(address): \(CommandError(error).message)",
        hint:
          "allow outgoing connections to port \(address.port) (\(tools.service.title): \(tools.ports)), or set \(key).proxy"
      )
    }
  }

  /// Returns the findings of a certificate chain. Pure.
  ///
  /// - Parameter now: UNIX seconds.
  static func findings(_ chain: [CertificateSummary], _ subject: String, now: Int64) -> [DoctorFinding] {
    guard let first = chain.first else { return [] }
    let days = (chain.map(\.validity.upperBound).min() ?? now) - now
    let text =
      "certificate of \(first.name) by \(first.issuer), \(chain.count) in the chain, valid for \(days / 86_400) more days"
    return [
      days < 7 * 86_400
        ? .advice(
          .network, subject, text,
          hint: "the push service renews its own certificate; renew the certificate of your proxy or simulator")
        : .healthy(.network, subject, text)
    ]
  }
}

/// A test connection with a TLS handshake. The initializer blocks until the handshake has ended, and closes the
/// connection.
struct TLSProbe {
  let version: String
  let protocolName: String
  let chain: [CertificateSummary]

  /// - Parameters:
  ///   - host: the expected name in the certificate.
  ///   - roots: a PEM file with certificates to trust instead of those of the system.
  ///   - timeout: the time limit for the connection and the handshake together, in ms.
  /// - Throws: ``TLS/TLSError``, ``EventLoop/SocketError``.
  init(_ address: SocketAddress, host: String, roots: String?, timeout: Int) throws {
    let end = EventLoop.now + UInt64(timeout) * 1_000_000
    let socket = try Socket.connect(to: address)
    defer { socket.close() }
    try Self.wait(socket, for: POLLOUT, until: end)
    if let error = socket.connectionError() { throw error }
    let context = try TLSContext.client(trust: roots.map { .file($0) } ?? .system, protocols: ["h2"])
    let stream = try TLSStream(socket, context: context, serverName: host)
    while let result = try stream.handshake() {
      if case .closed = result { throw SocketError(operation: "TLS handshake", reason: "the connection was closed") }
      try Self.wait(socket, for: result == .wantsWrite ? POLLOUT : POLLIN, until: end)
    }
    version = stream.version
    protocolName = stream.negotiatedProtocol ?? "no protocol by ALPN"
    chain = stream.peerChain
    stream.finishWriting()
  }

  private static func wait(_ socket: Socket, for events: Int32, until end: UInt64) throws {
    while true {
      let now = EventLoop.now
      var watched = pollfd(fd: socket.descriptor, events: Int16(events), revents: 0)
      // poll(2) returns the number of ready descriptors, 0 after the time limit, or -1 with errno.
      let count = poll(&watched, 1, end > now ? Int32((end - now) / 1_000_000) : 0)
      if count > 0 { return }
      if count == 0 { throw SocketError(operation: "connect", reason: "no answer within the time limit") }
      guard errno == EINTR else { throw SocketError(operation: "poll", reason: String(cString: strerror(errno))) }
    }
  }
}
