import EventLoop
import HTTP2
import PushCore
import PushTransport
import PushWorker
import TLS
import TestPushService
import TestSupport

/// The server of ``TextService``: HTTP/2 over TLS, JSON in both directions, and reasons of its own for rejected tokens.
actor TextServer {
  /// Received requests, and the settings for the answers.
  struct Book {
    /// The bearer token that the server accepts.
    var bearer: String
    /// The reason for each rejected token.
    var refusals: [String: TextService.Word] = [:]
    /// Number of further pushes that exceed the quota, and the limit per minute in their answers.
    var excess = (pushes: 0, limit: 0)
    /// Number of further server errors for each token.
    var serverErrors: [String: Int] = [:]
    /// The tokens of accepted pushes, in order.
    private(set) var accepted: [String] = []
    /// The messages by token.
    private(set) var messages: [String: String] = [:]
    /// Requests that are invalid for this service: a wrong path, header or body.
    private(set) var strange: [String] = []

    /// Answers a request.
    fileprivate mutating func answer(_ request: Request) -> (status: String, body: String) {
      guard request.path == TextService.path, request.type == "application/json",
        !request.fields.contains(where: { $0.hasPrefix("apns-") })
      else {
        strange.append("\(request.path) \(request.fields)")
        return ("404", "")
      }
      guard request.authorization == "bearer \(bearer)" else { return Self.refusal(.stranger, "401") }
      guard let root = try? JSONValue(parsing: request.body, maximumDepth: 8), case .object(let members) = root.kind,
        case .string(let token)? = members.value("to")?.kind,
        case .object(let message)? = members.value("message")?.kind,
        message.value("text") != nil
      else {
        strange.append(String(decoding: request.body, as: UTF8.self))
        return Self.refusal(.unfit, "200")
      }
      if excess.pushes > 0 {
        excess.pushes -= 1
        return ("429", #"{"error":"\#(TextService.Word.spent.text)","limit":\#(excess.limit)}"#)
      }
      if let errors = serverErrors[token], errors > 0 {
        serverErrors[token] = errors - 1
        return ("500", "")
      }
      if let word = refusals[token] {
        // The service is busy once.
        if word == .busy { refusals[token] = nil }
        return Self.refusal(word, "200")
      }
      accepted.append(token)
      if case .string(let text)? = message.value("text")?.kind { messages[token] = text }
      return ("200", #"{"ok":true}"#)
    }

    private static func refusal(_ word: TextService.Word, _ status: String) -> (status: String, body: String) {
      (status, #"{"error":"\#(word.text)"}"#)
    }
  }

  fileprivate struct Request {
    var path = ""
    var authorization = ""
    var type = ""
    var fields: [String] = []
    var body: [UInt8] = []
  }

  nonisolated let port: UInt16
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
  private nonisolated let loop: EventLoop
  private let listener: Socket
  private let context: TLSContext
  private let input = ReadBuffer(count: 16_384)
  private var watcher: SocketWatcher?
  private var lines: [Line] = []
  private(set) var book: Book

  /// Starts a server, and returns it with a channel to it.
  ///
  /// - Parameters:
  ///   - folder: a folder for the server's root certificate.
  ///   - credential: the credential of the channel. The server accepts the token `secret`.
  static func start(
    in folder: ScratchFolder, for service: TextService = TextService(),
    credential: TextCredential = TextCredential("secret")
  ) async throws -> (server: TextServer, channel: ServiceChannel) {
    let identity = try SelfSignedIdentity()
    let server = try TextServer(identity)
    await server.accept()
    let roots = try folder.write("text.pem", identity.authorityPEM)
    let channel = ServiceChannel(
      service: service, environment: "production",
      endpoint: PushEndpoint(url: "https://127.0.0.1:\(server.port)", trustRoots: roots), credential: credential)
    return (server, channel)
  }

  private init(_ identity: SelfSignedIdentity) throws {
    book = Book(bearer: "secret")
    context = try TLSContext.server(identity: identity.identity, protocols: ["h2"])
    let listener = try Socket.listen(at: try SocketAddress.resolve(host: "127.0.0.1", port: 0)[0])
    port = try listener.localAddress().port
    self.listener = listener
    loop = EventLoop(label: "text-server")
  }

  /// Accepts connections from now on.
  private func accept() {
    watcher = SocketWatcher(
      listener, on: loop, onReadable: { [weak self] in self?.assumeIsolated { $0.acceptWaiting() } }, onWritable: {})
  }

  /// Closes all connections.
  func stop() {
    watcher?.close()
    for line in lines { line.watcher?.close() }
    lines = []
  }

  func change(_ body: (inout Book) -> Void) { body(&book) }

  private func acceptWaiting() {
    while let socket = try? listener.accept() {
      guard let line = try? Line(socket, context) else { continue }
      lines.append(line)
      let number = lines.count - 1
      line.watcher = SocketWatcher(
        socket, on: loop, onReadable: { [weak self] in self?.assumeIsolated { $0.pump(number) } },
        onWritable: { [weak self] in self?.assumeIsolated { $0.pump(number) } })
    }
  }

  private func pump(_ number: Int) {
    guard number < lines.count else { return }
    let line = lines[number]
    do {
      if !(try line.pump(input.bytes, { book.answer($0) })) { line.watcher?.close() }
    } catch {
      line.watcher?.close()
    }
  }

  /// One connection. Confined to the server's loop.
  private final class Line: HTTP2SessionHandler {
    var watcher: SocketWatcher?
    private let tls: TLSStream
    private var session: HTTP2Session?
    private var requests: [HTTP2Stream: Request] = [:]
    private var complete: [HTTP2Stream] = []
    private var unwritten: [UInt8] = []

    init(_ socket: Socket, _ context: TLSContext) throws { tls = try TLSStream(socket, context: context) }

    /// - Returns: `false` if the peer has closed the connection.
    func pump(
      _ input: UnsafeMutableRawBufferPointer, _ answer: (Request) -> (status: String, body: String)
    ) throws -> Bool {
      if session == nil {
        if let result = try tls.handshake() { return result != .closed }
        session = try HTTP2Session(role: .server, settings: HTTP2Settings())
      }
      guard let session else { return false }
      reading: while true {
        switch try tls.read(into: input) {
        case .bytes(let count): try session.receive(UnsafeRawBufferPointer(rebasing: input[..<count]), handler: self)
        case .closed: return false
        case .wantsRead, .wantsWrite: break reading
        }
      }
      for stream in complete {
        guard let request = requests.removeValue(forKey: stream) else { continue }
        let (status, body) = answer(request)
        var fields = HeaderFields()
        fields.add(":status", status)
        try session.respond(to: stream, fields, body: Array(body.utf8))
      }
      complete = []
      while let bytes = try session.nextOutput(handler: self) { unwritten += bytes }
      while !unwritten.isEmpty {
        guard case .bytes(let count) = try unwritten.withUnsafeBytes({ try tls.write($0) }) else { break }
        unwritten.removeFirst(count)
      }
      watcher?.wantsWrite = !unwritten.isEmpty
      return true
    }

    func received(_ fields: borrowing HeaderFields, on stream: HTTP2Stream) {
      var request = Request()
      request.path = fields[":path"] ?? ""
      request.authorization = fields["authorization"] ?? ""
      request.type = fields["content-type"] ?? ""
      for index in 0..<fields.count { request.fields.append(String(decoding: fields.name(index), as: UTF8.self)) }
      requests[stream] = request
    }

    func received(_ bytes: UnsafeRawBufferPointer, on stream: HTTP2Stream) { requests[stream]?.body += bytes }

    func ended(_ stream: HTTP2Stream) { complete.append(stream) }

    func closed(_ stream: HTTP2Stream, error: HTTP2ErrorCode) { requests[stream] = nil }
  }
}
