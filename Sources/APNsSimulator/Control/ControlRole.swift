internal import HTTP2

/// The control API on one connection.
///
/// A device list is processed while it arrives, so its length is not limited. Other bodies are small.
final class ControlRole: ConnectionRole {
  private struct Request {
    var method: String
    var path: String
    var body: [UInt8] = []
    var devices: DeviceListReader?
  }

  /// Maximum size of other bodies in bytes. Knobs need only a few hundred bytes.
  private static let longestBody = 1 << 20

  private let connection: Int
  private let session: HTTP2Session
  private let service: ControlService
  private weak var loop: SimulatorLoop?
  private var requests: [HTTP2Stream: Request] = [:]
  private var fields = HeaderFields()

  init(connection: Int, session: HTTP2Session, service: ControlService, loop: SimulatorLoop?) {
    self.connection = connection
    self.session = session
    self.service = service
    self.loop = loop
  }

  func opened() {}

  func willWrite() {}

  func received(_ fields: borrowing HeaderFields, on stream: HTTP2Stream) {
    guard requests[stream] == nil else { return }
    let request = Request(method: fields[":method"] ?? "", path: fields[":path"] ?? "")
    requests[stream] = request
    if request.method == "POST", request.path == "/devices" {
      requests[stream]?.devices = DeviceListReader(registry: service.shared.registry)
    } else if request.method == "POST", request.path == "/fcm/devices", let fcm = service.shared.fcm {
      requests[stream]?.devices = DeviceListReader(fcm.devices)
    }
  }

  func received(_ bytes: UnsafeRawBufferPointer, on stream: HTTP2Stream) throws {
    guard let request = requests[stream] else { return }
    if request.devices != nil {
      requests[stream]?.devices?.read(bytes)
    } else if request.body.count + bytes.count > Self.longestBody {
      requests[stream] = nil
      try answer(stream, .failure(413, "more than \(Self.longestBody) bytes"))
    } else {
      requests[stream]?.body.append(contentsOf: bytes)
    }
  }

  func ended(_ stream: HTTP2Stream) throws {
    guard var request = requests.removeValue(forKey: stream) else { return }
    if let report = request.devices?.finish() {
      return try answer(stream, ControlResponse(report, status: report.skipped == 0 ? 200 : 400))
    }
    let (method, path, body) = (request.method, request.path, request.body)
    let (service, loop, connection) = (service, loop, connection)
    Task {
      let response = await service.handle(method: method, path: path, body: body)
      await loop?.answer(connection: connection, stream: stream, response)
    }
  }

  func closed(_ stream: HTTP2Stream, error: HTTP2ErrorCode) { requests[stream] = nil }

  func abandoned() { requests = [:] }

  /// Submits an answer. Does nothing if the stream is closed.
  func answer(_ stream: HTTP2Stream, _ response: ControlResponse) throws {
    fields.removeAll()
    fields.add(":status", String(response.status))
    fields.add("content-type", "application/json")
    try session.respond(to: stream, fields, body: response.body)
  }
}
