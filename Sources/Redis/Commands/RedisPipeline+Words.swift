/// The keys and names of the commands in a pipeline, for error messages.
extension RedisPipeline {
  /// Returns the keys of a command, for messages about its refusal.
  ///
  /// For a script, the keys are the declared keys. For any other command, they are the first argument, or the first two
  /// arguments if the command moves data from one key to another.
  ///
  /// - Parameter position: the position of the command in the pipeline.
  public func keys(of position: Int) -> [String] {
    let words = words(of: position).map { String(decoding: $0, as: UTF8.self) }
    switch words.first {
    case "EVALSHA":
      let count = words.count > 2 ? Int(words[2]) ?? 0 : 0
      return Array(words.dropFirst(3).prefix(count))
    case "BLMOVE", "LMOVE", "RENAME": return Array(words.dropFirst().prefix(2))
    case "EXISTS", "UNLINK": return Array(words.dropFirst())
    default: return Array(words.dropFirst().prefix(1))
    }
  }

  /// Returns the name of a command for messages about its refusal. For the call of a script, this is `the script NAME`.
  ///
  /// - Parameter position: the position of the command in the pipeline.
  public func name(of position: Int) -> String {
    if let call = scriptCalls.first(where: { $0.position == position }) { return "the script \(call.script.name)" }
    return words(of: position).first.map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  /// Returns a command's words, beginning with its name.
  private func words(of position: Int) -> [ArraySlice<UInt8>] {
    var rest = bytes[starts[position]...]
    var words: [ArraySlice<UInt8>] = []
    for _ in 0..<Self.number(&rest) {
      let length = Self.number(&rest)
      words.append(rest.prefix(length))
      // Each word is followed by a line end.
      rest = rest.dropFirst(length + 2)
    }
    return words
  }

  /// Removes a line such as `$12` from the front and returns its number.
  private static func number(_ rest: inout ArraySlice<UInt8>) -> Int {
    var number = 0
    rest = rest.dropFirst()
    while let digit = rest.popFirst(), digit != UInt8(ascii: "\r") {
      number = number * 10 + Int(digit - UInt8(ascii: "0"))
    }
    rest = rest.dropFirst()
    return number
  }
}
