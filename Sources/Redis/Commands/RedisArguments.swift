/// Value that can be an argument of a Redis command. Text is sent as UTF-8, numbers in decimal, bytes unchanged.
public protocol RedisArgument: Sendable {
  /// Appends this value as one argument.
  func append(to arguments: inout RedisArguments)
}

/// Arguments of commands, written as RESP bulk strings directly into one buffer. They may contain any bytes.
public struct RedisArguments: Sendable {
  var bytes: [UInt8] = []
  /// Number of arguments of the command that is being written, including its name.
  var count = 0

  /// Appends one argument.
  @inlinable
  public mutating func append(_ argument: some RedisArgument) {
    argument.append(to: &self)
  }

  /// Appends one argument of arbitrary bytes, which are copied.
  public mutating func append(_ argument: UnsafeRawBufferPointer) {
    count += 1
    bytes.append(UInt8(ascii: "$"))
    appendDigits(UInt64(argument.count))
    appendLineEnd()
    bytes.append(contentsOf: argument)
    appendLineEnd()
  }

  /// Appends one argument in decimal.
  public mutating func append(decimal value: Int64) {
    count += 1
    let magnitude = value.magnitude
    bytes.append(UInt8(ascii: "$"))
    appendDigits(UInt64(Self.digits(of: magnitude) + (value < 0 ? 1 : 0)))
    appendLineEnd()
    if value < 0 { bytes.append(UInt8(ascii: "-")) }
    appendDigits(magnitude)
    appendLineEnd()
  }

  /// Appends one argument in decimal.
  public mutating func append(decimal value: UInt64) {
    count += 1
    bytes.append(UInt8(ascii: "$"))
    appendDigits(UInt64(Self.digits(of: value)))
    appendLineEnd()
    appendDigits(value)
    appendLineEnd()
  }

  /// Begins a command. The number of its arguments is known only at its end. This function therefore writes one digit
  /// as a placeholder. ``end(_:)`` writes the number, and makes room for more digits. In this way, no caller can pass a
  /// wrong number.
  mutating func begin() -> Int {
    count = 0
    let start = bytes.count
    bytes.append(UInt8(ascii: "*"))
    bytes.append(UInt8(ascii: "0"))
    appendLineEnd()
    return start
  }

  /// Ends the command that ``begin()`` began at `start`.
  ///
  /// - Returns: the number of bytes by which everything after the first digit moved.
  @discardableResult
  mutating func end(_ start: Int) -> Int {
    let first = start + 1
    guard count > 9 else {
      bytes[first] = UInt8(ascii: "0") + UInt8(count)
      return 0
    }
    let extra = Self.digits(of: UInt64(count)) - 1
    bytes.insert(contentsOf: repeatElement(UInt8(ascii: "0"), count: extra), at: first)
    var rest = count
    for position in stride(from: first + extra, through: first, by: -1) {
      bytes[position] = UInt8(ascii: "0") + UInt8(rest % 10)
      rest /= 10
    }
    return extra
  }

  private mutating func appendLineEnd() {
    bytes.append(UInt8(ascii: "\r"))
    bytes.append(UInt8(ascii: "\n"))
  }

  private mutating func appendDigits(_ value: UInt64) {
    var divisor: UInt64 = 1
    for _ in 1..<Self.digits(of: value) { divisor *= 10 }
    var rest = value
    while divisor > 0 {
      bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest / divisor))
      rest %= divisor
      divisor /= 10
    }
  }

  private static func digits(of value: UInt64) -> Int {
    var count = 1
    var rest = value
    while rest >= 10 {
      rest /= 10
      count += 1
    }
    return count
  }
}

extension String: RedisArgument {
  public func append(to arguments: inout RedisArguments) {
    var text = self
    text.withUTF8 { arguments.append(UnsafeRawBufferPointer($0)) }
  }
}

extension Substring: RedisArgument {
  public func append(to arguments: inout RedisArguments) {
    var text = self
    text.withUTF8 { arguments.append(UnsafeRawBufferPointer($0)) }
  }
}

extension StaticString: RedisArgument {
  public func append(to arguments: inout RedisArguments) {
    withUTF8Buffer { arguments.append(UnsafeRawBufferPointer($0)) }
  }
}

extension [UInt8]: RedisArgument {
  public func append(to arguments: inout RedisArguments) {
    withUnsafeBytes { arguments.append($0) }
  }
}

extension ArraySlice<UInt8>: RedisArgument {
  public func append(to arguments: inout RedisArguments) {
    withUnsafeBytes { arguments.append($0) }
  }
}

extension Int: RedisArgument {
  public func append(to arguments: inout RedisArguments) { arguments.append(decimal: Int64(self)) }
}

extension Int64: RedisArgument {
  public func append(to arguments: inout RedisArguments) { arguments.append(decimal: self) }
}

extension UInt64: RedisArgument {
  public func append(to arguments: inout RedisArguments) { arguments.append(decimal: self) }
}

extension UInt32: RedisArgument {
  public func append(to arguments: inout RedisArguments) { arguments.append(decimal: UInt64(self)) }
}

extension UInt16: RedisArgument {
  public func append(to arguments: inout RedisArguments) { arguments.append(decimal: UInt64(self)) }
}

/// Bytes or decimal text of a reply, as an argument. A reply without text is an empty argument.
extension RedisReply: RedisArgument {
  public func append(to arguments: inout RedisArguments) {
    if kind == .integer, let integer {
      arguments.append(decimal: Int64(integer))
    } else {
      withBytes { arguments.append($0) }
    }
  }
}
