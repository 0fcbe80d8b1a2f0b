/// A request that was received in full.
struct GoogleRequest {
  var method = ""
  var path = ""
  var authority = ""
  var authorization: String?
  var contentType: String?
  var body: [UInt8] = []
  /// Number of bytes of the body, including the bytes beyond the limit, which were dropped.
  var bodyCount = 0

  /// The path without its query.
  var resource: Substring { Substring(path.utf8.prefix { $0 != UInt8(ascii: "?") }) }
}

/// An answer to a request.
struct GoogleAnswer {
  var status: Int
  var contentType = "application/json; charset=UTF-8"
  var headers: [(name: String, value: String)] = []
  var body: [UInt8]?
  /// Delay of an answer of the token endpoint, in milliseconds. The delay of an answer of FCM comes from the fault
  /// knobs.
  var delayMilliseconds = 0
  /// The registration token of the request, for the log; empty for none.
  var token = ""
}

/// One of Google's two services in the simulator: the token endpoint or FCM. It decides the answers to requests.
protocol GoogleEndpoint {
  /// Whether the service is FCM, to which the fault knobs apply.
  var hasFaults: Bool { get }

  /// Decides and counts the answer of a request.
  func answer(_ request: GoogleRequest, by loop: LoopState) -> GoogleAnswer
}

extension LoopState {
  /// Seconds since 1970 on Google's clock.
  var googleTime: Int64 { now - knobs.clockSkewSeconds + Int64(knobs.fcm.clockSkewSeconds) }
}
