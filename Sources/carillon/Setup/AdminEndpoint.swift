import Admin
import CommandSupport
import HTTPServer
import Logging
import PushCore
import TLS

/// Where this process serves HTTP: its routes at the address of the configuration, and the tokens of its file, read again
/// when that changes.
final class AdminEndpoint: Sendable {
  /// Between two looks at the token file: soon enough for somebody who has just made one.
  private static let interval = Duration.seconds(2)
  private static let logger = Logger(label: "admin")

  private let server: HTTPServer
  private let site: Site
  private let watching: Task<Void, Never>?

  /// Serves from now on, and logs where.
  ///
  /// - Parameters:
  ///   - listen: where.
  ///   - routes: what is served.
  ///   - asksForTokens: whether any of it asks for a token: then it must not listen for others than this machine while there
  ///     is none.
  init(
    _ admin: CarillonConfiguration.Admin?, at listen: ListenAddress, _ routes: [Route], asksForTokens: Bool
  ) throws {
    let tokenFile = asksForTokens ? admin?.tokenFile : nil
    let tokens = try tokenFile.map(Self.tokens) ?? AccessTokens()
    if asksForTokens, !listen.isLoopback, tokens.isEmpty {
      throw CommandError(
        .configuration, "admin.listen: \(listen.host) can be reached by others, and there is no token",
        hint: "name a file in admin.tokenFile, and run: carillon admin token NAME --scope view")
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
          hint: "openssl x509 -noout -pubkey -in CERTIFICATE and openssl pkey -pubout -in KEY print the same "
            + "where they belong together")
      }
      throw CommandError(
        .failed, "admin.listen: \(error)",
        hint: "where several processes of one machine share a configuration, give each its own: --listen 127.0.0.1:0")
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

  /// Serves these routes in the place of those before.
  func replace(_ routes: [Route]) { site.replace(routes) }

  /// Lets requests under way be answered, and ends.
  func stop() async {
    watching?.cancel()
    await server.stop(within: .seconds(5))
  }

  /// The tokens of a file. Whoever can write it can let themselves in, so it must be as safe as a key.
  static func tokens(_ file: String) throws -> AccessTokens {
    let bytes: [UInt8]
    do throws(SecretFileError) {
      bytes = try SecretFile.read(file)
    } catch {
      throw CommandError(
        .configuration, "admin.tokenFile: \(error.file): \(error.reason)",
        hint: "\(error.hint); carillon admin token NAME --scope view makes the file")
    }
    do throws(AccessTokens.FileError) {
      return try AccessTokens(parsing: String(decoding: bytes, as: UTF8.self))
    } catch {
      throw CommandError(
        .configuration, "admin.tokenFile: \(file), \(error)", hint: "carillon admin token writes such lines")
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
        logger.info("the token file has changed and is in use", metadata: [LineLogHandler.eventKey: "tokensReloaded"])
      } catch {
        let error = CommandError(error)
        logger.error(
          "\(error.message); the tokens that were read before stay in use",
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
  /// The problem that a command's error is.
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
