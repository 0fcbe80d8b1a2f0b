import Dispatch
import Glibc

/// One Redis command over a connection of its own, with the output of `redis-cli`. It does not use the module `Redis`,
/// which tests examine with it, and starts no process, which would take most of the time of a test with many commands.
final class PlainCommand: Sendable {
  private let descriptor: Int32

  private init(port: UInt16) throws {
    let address = try NumericAddress("127.0.0.1", port: Int(port))
    descriptor = socket(address.family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard address.connect(descriptor) == 0 else {
      throw TestSupportError("connect to Redis on port \(port): \(String(cString: strerror(errno)))")
    }
  }

  deinit { close(descriptor) }

  /// Runs a command.
  ///
  /// - Returns: the reply, with one line for each element of an array; the text of an error reply.
  static func run(_ words: [String], port: UInt16, password: String?) async throws -> String {
    let command = try PlainCommand(port: port)
    let commands = (password.map { [["AUTH", $0]] } ?? []) + [words]
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async {
          continuation.resume(with: Result { try command.exchange(commands) })
        }
      }
    } onCancel: {
      // The blocked read then ends.
      shutdown(command.descriptor, Int32(SHUT_RDWR))
    }
  }

  /// Sends commands and returns the reply to the last one.
  private func exchange(_ commands: [[String]]) throws -> String {
    var request: [UInt8] = []
    for words in commands {
      request += Array("*\(words.count)\r\n".utf8)
      for word in words { request += Array("$\(word.utf8.count)\r\n\(word)\r\n".utf8) }
    }
    var sent = 0
    while sent < request.count {
      let count = request.withUnsafeBytes {
        send(descriptor, $0.baseAddress?.advanced(by: sent), $0.count - sent, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw TestSupportError("Redis closed the connection") }
      sent += count
    }
    var input = Input(descriptor: descriptor)
    for _ in commands.dropLast() { _ = try input.reply() }
    return String(decoding: try input.reply(), as: UTF8.self)
  }

  /// Replies in the form of RESP2 (https://redis.io/docs/latest/develop/reference/protocol-spec/).
  private struct Input {
    let descriptor: Int32
    private var bytes: ArraySlice<UInt8> = []

    init(descriptor: Int32) { self.descriptor = descriptor }

    mutating func reply() throws -> [UInt8] {
      let head = try line()
      let rest = head.dropFirst()
      switch head.first {
      case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: ":"): return Array(rest)
      case UInt8(ascii: "$"):
        let count = try number(rest)
        if count < 0 { return [] }
        while bytes.count < count + 2 { try fill() }
        defer { bytes = bytes.dropFirst(count + 2) }
        return Array(bytes.prefix(count))
      case UInt8(ascii: "*"):
        var elements: [[UInt8]] = []
        for _ in 0..<max(0, try number(rest)) { elements.append(try reply()) }
        return Array(elements.joined(separator: [UInt8(ascii: "\n")]))
      default: throw TestSupportError("unknown reply of Redis: \(String(decoding: head, as: UTF8.self))")
      }
    }

    private func number(_ text: ArraySlice<UInt8>) throws -> Int {
      guard let number = Int(String(decoding: text, as: UTF8.self)) else {
        throw TestSupportError("\(String(decoding: text, as: UTF8.self)) is not a number")
      }
      return number
    }

    private mutating func line() throws -> ArraySlice<UInt8> {
      while true {
        if let end = bytes.firstIndex(of: UInt8(ascii: "\r")) {
          while bytes.endIndex < end + 2 { try fill() }
          defer { bytes = bytes[(end + 2)...] }
          return bytes[..<end]
        }
        try fill()
      }
    }

    private mutating func fill() throws {
      var buffer = [UInt8](repeating: 0, count: 64 << 10)
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count > 0 else { throw TestSupportError("Redis closed the connection before its reply") }
      bytes += buffer[..<count]
    }
  }
}
