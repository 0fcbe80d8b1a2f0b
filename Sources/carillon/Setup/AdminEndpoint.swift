import Admin
import CommandSupport
import HTTPServer
import Logging
import PushCore
import TLS

/// The HTTP server of this process: its routes, its address and its access tokens. The token file is read again when it
/// changes.
final class AdminEndpoint: Sendable {
  /// Polling interval of the token file: short enough for an operator who has just created a token and waits until it
  /// works.
  private static let interval = Duration.seconds(2)
  private static let logger = Logger(label: "admin")

  private let server: HTTPServer
  private let site: Site
  private let watching: Task<Void, Never>?

  /// Starts the server and logs its address.
  ///
  /// - Parameters:
  ///   - listen: the address.
  ///   - routes: the routes.
  ///   - asksForTokens: whether a route requires a token. Without a token in the file, such a server must accept
  ///     connections only from this machine.
  init(
    _ admin: CarillonConfiguration.Admin?, at listen: ListenAddress, _ routes: [Route], asksForTokens: Bool
  ) throws {
    let tokenFile = asksForTokens ? admin?.tokenFile : nil
    let tokens = try tokenFile.map(Self.tokens) ?? AccessTokens()
    if asksForTokens, !listen.isLoopback, tokens.isEmpty {
      throw CommandError(
        .configuration, "admin.listen: other machines can reach \(listen.host), but there is no access token",
        hint: "set admin.tokenFile, then run: carillon admin token NAME --scope view")
    }
    let site = Site(routes, tokens: tokens) { Problem(CommandError($0)) }
    self.site = site
    var options = HTTPServerOptions(host: listen.host, port: listen.port)
    options.identity = try admin?.tls.map(Self.identity)
    do throws(HTTPServerError) {
      server = try HTTPServer(options, handler: site)
    } catch {
      guard !error.isOfIdentity else {
        throw CommandError(
          .configuration, "admin.tls: \(error)",
          hint: "check that the key belongs to the certificate: openssl x509 -noout -pubkey -in CERTIFICATE and "
            + "openssl pkey -pubout -in KEY must print the same")
      }
      throw CommandError(
        .failed, "admin.listen: \(error)",
        hint:
          "if several processes on this machine share a configuration, give each its own address: --listen 127.0.0.1:0")
    }
    Self.logger.info(
      "listening",
      metadata: [
        LineLogHandler.eventKey: "listening",
        "url": "\(options.identity == nil ? "http" : "https")://\(listen.urlHost):\(server.port)",
        "port": .number(server.port),
      ])
    watching = tokenFile.map { file in Task { await Self.watch(file, site) } }
  }

  /// Replaces the routes.
  func replace(_ routes: [Route]) { site.replace(routes) }

  /// Stops the server. Before it stops, the server completes requests in flight, for at most 5 s.
  func stop() async {
    watching?.cancel()
    await server.stop(within: .seconds(5))
  }

  /// Returns the tokens of a file. A user who can write the file can give access to everyone, so the permissions of the
  /// file are checked as for a key.
  static func tokens(_ file: String) throws -> AccessTokens {
    let bytes: [UInt8]
    do throws(SecretFileError) {
      bytes = try SecretFile.read(file)
    } catch {
      throw CommandError(
        .configuration, "admin.tokenFile: \(error.file): \(error.reason)",
        hint: "\(error.hint); carillon admin token NAME --scope view creates the file")
    }
    do throws(AccessTokens.FileError) {
      return try AccessTokens(parsing: String(decoding: bytes, as: UTF8.self))
    } catch {
      throw CommandError(
        .configuration, "admin.tokenFile: \(file), \(error)",
        hint: "remove the line, then add a token: carillon admin token NAME --scope view")
    }
  }

  private static func watch(_ file: String, _ site: Site) async {
    var stamp = FileStamp(of: file)
    while !Task.isCancelled {
      try? await Task.sleep(for: interval)
      let now = FileStamp(of: file)
      guard now != stamp else { continue }
      stamp = now
      do {
        site.replace(try tokens(file))
        logger.info("reloaded the changed token file", metadata: [LineLogHandler.eventKey: "tokensReloaded"])
      } catch {
        let error = CommandError(error)
        logger.error(
          "\(error.message); the previous tokens stay in use",
          metadata: [LineLogHandler.eventKey: "tokensUnusable", "hint": "\(error.hint ?? "")"])
      }
    }
  }

  private static func identity(_ tls: CarillonConfiguration.AdminTLS) throws -> HTTPServerOptions.Identity {
    do {
      let chain = String(
        decoding: try InputFile.contents(tls.certificate, limit: SecretFile.maximumSize), as: UTF8.self)
      let key = String(decoding: try SecretFile.read(tls.key), as: UTF8.self)
      return HTTPServerOptions.Identity(certificateChain: chain, key: key)
    } catch let error as SecretFileError {
      throw CommandError(.configuration, "admin.tls.key: \(error.file): \(error.reason)", hint: error.hint)
    } catch {
      throw CommandError(.configuration, "admin.tls.certificate: \(CommandError(error).message)", hint: nil)
    }
  }
}

extension Problem {
  /// Creates the HTTP problem for a command's error.
  init(_ error: CommandError) {
    let status =
      switch error.code {
      case .usage: 400
      case .input: 422
      case .notFound: 404
      case .conflict, .failed: 409
      case .unreachable, .configuration: 503
      case .defect: 500
      }
    self.init(status, error.code.rawValue, Excerpt.harmless(error.message), hint: error.hint.map(Excerpt.harmless))
  }
}
