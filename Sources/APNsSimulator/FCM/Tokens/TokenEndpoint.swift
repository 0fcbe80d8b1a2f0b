/// Google's token endpoint: `POST /token` exchanges a signed assertion for an access token.
struct TokenEndpoint: GoogleEndpoint {
  private static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
  /// Number of random 64-bit words in an access token. Google's tokens have 200 to 1,100 characters.
  private static let tokenWords = 12

  let state: FCMState
  let hasFaults = false

  func answer(_ request: GoogleRequest, by loop: LoopState) -> GoogleAnswer {
    let knobs = loop.knobs.fcm
    var answer: GoogleAnswer
    do throws(AssertionVerifier.Refusal) {
      answer = try grant(request, by: loop)
    } catch {
      loop.tally.fcm.mintErrors[error.error, default: 0] += 1
      answer = GoogleAnswer(
        status: error.status,
        body: JSONTree.members(["error": .string(error.error), "error_description": .string(error.description)]).pretty)
    }
    answer.delayMilliseconds = knobs.tokenEndpointMilliseconds
    return answer
  }

  private func grant(
    _ request: GoogleRequest, by loop: LoopState
  ) throws(AssertionVerifier.Refusal) -> GoogleAnswer {
    let knobs = loop.knobs.fcm
    if knobs.tokenEndpointStatus > 0 {
      throw .init(
        status: knobs.tokenEndpointStatus, error: "internal_failure", description: "The token endpoint is in trouble.")
    }
    guard request.resource == "/token" else {
      throw .init(status: 404, error: "not_found", description: "The requested URL was not found on this server.")
    }
    guard request.method == "POST" else {
      throw .init(status: 405, error: "invalid_request", description: "The method must be POST.")
    }
    let form = FormFields(request.body)
    guard let type = form["grant_type"] else {
      throw .init(error: "invalid_request", description: "Required parameter is missing: grant_type")
    }
    guard type == Self.grantType else {
      throw .init(error: "unsupported_grant_type", description: "Invalid grant_type: \(type)")
    }
    guard let assertion = form["assertion"] else {
      throw .init(error: "invalid_request", description: "Missing required parameter: assertion")
    }
    let accepted = try state.assertions.verify(
      assertion, address: "https://\(request.authority)/token", by: knobs, now: loop.googleTime)
    let token = newToken(by: loop)
    state.tokens.add(
      token,
      .init(
        account: accepted.account, expiresAt: loop.googleTime + Int64(knobs.accessTokenSeconds),
        hasScope: accepted.hasScope), now: loop.googleTime)
    loop.tally.fcm.mints += 1
    return GoogleAnswer(
      status: 200,
      body: JSONTree.members([
        "access_token": .string(token), "expires_in": .number(String(knobs.accessTokenSeconds)),
        "token_type": "Bearer",
      ]).pretty)
  }

  private func newToken(by loop: LoopState) -> String {
    let words = (0..<Self.tokenWords).map { _ in
      let digits = String(loop.generator.next(), radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }
    return "ya29.c." + words.joined()
  }
}

/// The fields of a body of the type `application/x-www-form-urlencoded`.
struct FormFields {
  private var values: [String: String] = [:]

  init(_ body: [UInt8]) {
    for pair in body.split(separator: UInt8(ascii: "&")) {
      let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else { continue }
      values[Self.decoded(parts[0])] = Self.decoded(parts[1])
    }
  }

  subscript(_ name: String) -> String? { values[name] }

  private static func decoded(_ bytes: ArraySlice<UInt8>) -> String {
    var result: [UInt8] = []
    var rest = bytes[...]
    while let byte = rest.first {
      rest = rest.dropFirst()
      let digits = rest.prefix(2).map { Hex.value($0) }
      if byte == UInt8(ascii: "%"), digits.count == 2, digits.allSatisfy({ $0 <= 0x0F }) {
        result.append(digits[0] << 4 | digits[1])
        rest = rest.dropFirst(2)
      } else {
        result.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      }
    }
    return String(decoding: result, as: UTF8.self)
  }
}
