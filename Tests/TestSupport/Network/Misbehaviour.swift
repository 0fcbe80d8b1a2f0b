/// One misbehaviour of a server, and the results that it causes for the pushes.
public struct Misbehaviour: CustomStringConvertible, Sendable {
  /// Known result of a push.
  public enum Outcome: Equatable, Sendable {
    case accepted, refused, notSent, inDoubt
  }

  typealias Frame = RawPeer.Frame

  /// Description of the behaviour of the server.
  public var description: String
  /// The results of the pushes after the first, or of the first push if it is the only one.
  public var outcomes: [Outcome]
  /// Whether the first push is answered normally, and the server misbehaves after the others have arrived.
  public var isWarm = false
  /// Whether the server misbehaves before the client can have sent a push, so libcurl has the same result.
  public var isBeforeAnything = false
  /// Whether libcurl may miss the answer. It loses a header that it reads together with RST_STREAM.
  public var isBlurred = false
  /// The timeouts in seconds for a push and for a connection. They are longer than a busy machine needs, except in rows
  /// that test a timeout.
  public var timeouts: (request: UInt64, connect: UInt64) = (30, 30)
  /// The protocols that the server offers by ALPN.
  public var protocols = ["h2"]
  /// The bytes that the server sends in cleartext instead of TLS.
  public var cleartext: [UInt8]?
  /// Words that the error of the connection must contain.
  public var words = ""
  /// Acts as the server after the connection is established and SETTINGS are sent. In warm rows it begins after the
  /// answer to the first push.
  var serve: @Sendable (RawPeer) -> Void = { $0.fallSilent() }
  /// Whether the server begins correctly with SETTINGS.
  var saysSettings = true

  /// Acts as the server of one connection after the client's preface.
  ///
  /// - Parameter beforeServing: called before the server misbehaves.
  public func play(_ peer: RawPeer, beforeServing: () -> Void = {}) {
    if saysSettings { peer.write(.settings) }
    if isWarm {
      guard let stream = peer.nextRequest() else { return }
      peer.write(.headers(stream, Self.ok, ends: true))
    }
    beforeServing()
    serve(peer)
  }

  init(_ description: String, _ outcomes: Outcome..., change: (inout Misbehaviour) -> Void) {
    self.description = description
    self.outcomes = outcomes
    change(&self)
  }

  /// Creates a row whose server waits for a push, sends some frames and ends the connection.
  init(_ description: String, _ outcome: Outcome, answer: @escaping @Sendable (UInt32) -> [Frame]) {
    self.init(description, outcome) {
      $0.serve = { peer in
        guard let stream = peer.nextRequest() else { return }
        peer.write(answer(stream).flatMap(\.bytes))
      }
    }
  }

  /// Creates a row whose server sends frames without end once there is a push on an established connection.
  static func flood(_ description: String, _ frames: @escaping @Sendable (UInt32) -> Frame) -> Misbehaviour {
    Misbehaviour("\(description) without end", .inDoubt) {
      $0.isWarm = true
      // A short timeout, in case the machine is too busy for a flood.
      $0.timeouts.request = 5
      $0.serve = { peer in
        guard let stream = peer.nextRequest() else { return }
        peer.flood(frames(stream))
      }
    }
  }

  /// `:status: 200` (RFC 7541 appendix A).
  static let ok: [UInt8] = [0x88]
  static func status(_ code: String) -> [UInt8] { [0x08, UInt8(code.utf8.count)] + code.utf8 }

  /// All rows.
  public static let rows: [Misbehaviour] =
    handshakes + answers + resets + goAways + floods

  private static let handshakes: [Misbehaviour] = [
    Misbehaviour("ALPN answered with nothing", .notSent) {
      $0.protocols = []
      $0.isBeforeAnything = true
      $0.words = "did not agree to HTTP/2 by ALPN"
    },
    Misbehaviour("ALPN answered with http/1.1", .notSent) {
      $0.protocols = ["http/1.1"]
      $0.isBeforeAnything = true
    },
    Misbehaviour("TLS 1.1 at most", .notSent) {
      // The alert `protocol_version`.
      $0.cleartext = [0x15, 3, 1, 0, 2, 2, 70]
      $0.isBeforeAnything = true
    },
    Misbehaviour("HTTP/1.1 without TLS", .notSent) {
      $0.cleartext = Array("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".utf8)
      $0.isBeforeAnything = true
    },
    Misbehaviour("HTTP/1.1 after h2 was agreed to", .notSent) {
      $0.saysSettings = false
      $0.serve = {
        $0.write(Array("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".utf8))
        $0.fallSilent()
      }
    },
    Misbehaviour("a first frame that is not SETTINGS", .notSent) {
      $0.saysSettings = false
      $0.serve = {
        $0.write(Frame.ping, Frame.settings)
        $0.fallSilent()
      }
    },
    Misbehaviour("no SETTINGS", .notSent) {
      $0.saysSettings = false
      $0.timeouts = (3, 3)
    },
    Misbehaviour("no answer", .inDoubt) { $0.timeouts.request = 3 },
  ]

  private static let answers: [Misbehaviour] = [
    Misbehaviour("200 cut by the end of the connection", .inDoubt) { [.headers($0, ok, ends: false)] },
    Misbehaviour("200 cut by RST_STREAM", .inDoubt) { [.headers($0, ok, ends: false), .reset($0, 2)] },
    Misbehaviour("200 cut by REFUSED_STREAM", .inDoubt) { [.headers($0, ok, ends: false), .reset($0, 7)] },
    Misbehaviour("200 ended by RST_STREAM without an error", .accepted) {
      $0.isBlurred = true
      $0.serve = { peer in
        guard let stream = peer.nextRequest() else { return }
        peer.write(.headers(stream, ok, ends: false), .reset(stream, 0))
      }
    },
    Misbehaviour("200 cut after a GOAWAY", .inDoubt) { [.headers($0, ok, ends: false), .goAway($0)] },
    Misbehaviour("410 cut in its body", .inDoubt) {
      [
        .headers($0, status("410") + RawPeer.field("content-length", "70"), ends: false),
        .data($0, Array(#"{"reason":"Unregistered"#.utf8), ends: false),
      ]
    },
    Misbehaviour("a body of 12,000 bytes in one frame, and nothing more", .accepted) {
      $0.timeouts.request = 5
      $0.serve = { peer in
        guard let stream = peer.nextRequest() else { return }
        peer.write(
          .headers(stream, ok, ends: false), .data(stream, .init(repeating: 0x20, count: 12_000), ends: true))
        peer.fallSilent()
      }
    },
    Misbehaviour("headers cut in the middle", .inDoubt) { [Frame(1, stream: $0, ok)] },
    Misbehaviour("an interim answer, and the end", .inDoubt) { [.headers($0, status("103"), ends: false)] },
    Misbehaviour("trailers", .accepted) {
      [
        .headers($0, ok, ends: false), .headers($0, RawPeer.field("x", "y"), ends: true),
      ]
    },
    Misbehaviour("no HPACK", .inDoubt) { [.headers($0, [0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], ends: true)] },
    Misbehaviour("a content-length that lies", .inDoubt) {
      [.headers($0, ok + RawPeer.field("content-length", "7"), ends: true)]
    },
    Misbehaviour("status 000", .inDoubt) { [.headers($0, status("000"), ends: true)] },
    Misbehaviour("no status", .inDoubt) { [.headers($0, RawPeer.field("apns-id", "x"), ends: true)] },
    Misbehaviour("a field of HTTP/1.1", .inDoubt) {
      [.headers($0, ok + RawPeer.field("connection", "close"), ends: true)]
    },
    Misbehaviour("headers of 200 kB", .inDoubt) { stream in
      let field = RawPeer.field("x-filler", String(repeating: "y", count: 100))
      let block = Array([[UInt8]](repeating: field, count: 140).joined())
      return [Frame(1, flags: 1, stream: stream, ok)] + (0..<13).map { _ in Frame(9, stream: stream, block) }
        + [Frame(9, flags: 4, stream: stream, block)]
    },
    Misbehaviour("an answer on a stream of its own", .inDoubt) { _ in [.headers(2, ok, ends: true)] },
    Misbehaviour("an answer on a stream that was not opened", .inDoubt) { _ in [.headers(99, ok, ends: true)] },
  ]

  private static let resets: [Misbehaviour] = [0, 2, 5, 7, 8, 11, 13].map { code in
    Misbehaviour("RST_STREAM, code \(code)", code == 7 ? .notSent : .inDoubt) { [.reset($0, UInt8(code))] }
  }

  private static let goAways: [Misbehaviour] = [
    Misbehaviour("GOAWAY that names no stream", .notSent) { _ in [.goAway(0)] },
    Misbehaviour("GOAWAY that names all streams, and the answer", .accepted) {
      [.goAway(0x7fff_ffff), .headers($0, ok, ends: true)]
    },
    Misbehaviour("GOAWAY that names one of three, and its answer", .accepted, .notSent, .notSent) {
      $0.isWarm = true
      $0.serve = { peer in
        guard let first = peer.nextRequest(), peer.nextRequest() != nil, peer.nextRequest() != nil else { return }
        peer.write(.goAway(first), .headers(first, ok, ends: true))
      }
    },
  ]

  /// The rows whose server sends without end.
  public static let floods: [Misbehaviour] = [
    flood("WINDOW_UPDATE") { _ in .windowUpdate(0) },
    flood("WINDOW_UPDATE of a stream that has ended") { _ in .windowUpdate(1) },
    flood("PRIORITY") { Frame(2, stream: $0, [0, 0, 0, 0, 1]) },
    flood("PING") { _ in .ping },
    flood("SETTINGS") { _ in .settings },
    flood("frames of an unknown type") { _ in Frame(200) },
    flood("interim answers") { .headers($0, status("103"), ends: false) },
    flood("RST_STREAM of a stream that has ended") { _ in .reset(1, 0) },
    Misbehaviour("KeyUpdate of TLS without end", .inDoubt) {
      $0.isWarm = true
      $0.timeouts.request = 5
      $0.serve = { peer in
        if peer.nextRequest() != nil { peer.floodKeyUpdates() }
      }
    },
    Misbehaviour("DATA without contents and end", .inDoubt) {
      $0.isWarm = true
      $0.timeouts.request = 5
      $0.serve = { peer in
        guard let stream = peer.nextRequest() else { return }
        peer.write(.headers(stream, ok, ends: false))
        peer.flood(.data(stream, [], ends: false))
      }
    },
    Misbehaviour("a body without end", .inDoubt) {
      $0.timeouts.request = 5
      $0.serve = { peer in
        guard let stream = peer.nextRequest() else { return }
        peer.write(.headers(stream, ok, ends: false))
        let piece = Frame.data(stream, .init(repeating: 0x20, count: 16_000), ends: false)
        // The data fills at least the client's flow-control window.
        for _ in 0..<5 { peer.write(piece) }
        peer.fallSilent()
      }
    },
    Misbehaviour("a header block without end", .inDoubt) {
      $0.timeouts.request = 5
      $0.serve = { peer in
        guard let stream = peer.nextRequest() else { return }
        peer.write(Frame(1, flags: 1, stream: stream, ok))
        peer.flood(Frame(9, stream: stream))
      }
    },
  ]
}
