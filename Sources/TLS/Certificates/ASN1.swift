internal import COpenSSL

/// Reads and writes sequences of texts in DER (X.690), through OpenSSL. Apple lists the topics of a push certificate in
/// this form.
public enum ASN1 {
  /// Element of a sequence.
  public indirect enum Element: Sendable {
    /// UTF8String.
    case text(String)
    /// Sequence within the sequence.
    case sequence([Element])
  }

  /// DER of NULL.
  public static let null: [UInt8] = [0x05, 0x00]

  /// Returns the texts at the top level of a sequence, in order. All other elements are skipped.
  ///
  /// - Parameter der: one sequence, without bytes after it.
  /// - Returns: `nil` if the bytes are not such a sequence.
  public static func texts(inSequence der: [UInt8]) -> [String]? {
    der.withUnsafeBufferPointer { bytes in
      var place = bytes.baseAddress
      // d2i_ASN1_SEQUENCE_ANY(3) moves the pointer past the bytes that it read; the caller must free the elements.
      let stack = d2i_ASN1_SEQUENCE_ANY(nil, &place, bytes.count)
      ERR_clear_error()
      guard let stack else { return nil }
      defer { carillon_elements_free(stack) }
      guard place == bytes.baseAddress.map({ $0 + bytes.count }) else { return nil }
      return (0..<carillon_elements_count(stack)).compactMap { index in
        guard let element = carillon_element(stack, index), element.pointee.type == V_ASN1_UTF8STRING else {
          return nil
        }
        let text = element.pointee.value.utf8string
        // ASN1_STRING_get0_data(3) returns a pointer to the bytes, which are copied here.
        return String(
          decoding: UnsafeBufferPointer(start: ASN1_STRING_get0_data(text), count: Int(ASN1_STRING_length(text))),
          as: UTF8.self)
      }
    }
  }

  /// Returns the DER of a sequence.
  ///
  /// - Throws: ``TLSError`` if memory is exhausted.
  public static func der(sequence elements: [Element]) throws -> [UInt8] {
    guard let stack = carillon_elements_new() else { throw TLSError.last("encode a sequence") }
    defer { carillon_elements_free(stack) }
    for element in elements {
      switch element {
      case .text(let text): try push(V_ASN1_UTF8STRING, Array(text.utf8), on: stack)
      case .sequence(let elements): try push(V_ASN1_SEQUENCE, try der(sequence: elements), on: stack)
      }
    }
    // i2d_ASN1_SEQUENCE_ANY(3) only returns the length if the pointer is null. The second call moves the pointer past
    // the bytes that it wrote.
    let count = Int(i2d_ASN1_SEQUENCE_ANY(stack, nil))
    guard count > 0 else { throw TLSError.last("encode a sequence") }
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
      var place = buffer.baseAddress
      written = max(0, Int(i2d_ASN1_SEQUENCE_ANY(stack, &place)))
    }
  }

  private static func push(_ type: Int32, _ bytes: [UInt8], on stack: OpaquePointer) throws {
    guard let element = ASN1_TYPE_new(), let string = ASN1_STRING_type_new(type) else {
      throw TLSError.last("encode a sequence")
    }
    // ASN1_TYPE_set(3) takes ownership of the string, and the stack takes ownership of the element if the push succeeds
    // (sk_TYPE_push(3)).
    ASN1_TYPE_set(element, type, string)
    guard ASN1_STRING_set(string, bytes, Int32(bytes.count)) == 1, carillon_elements_push(stack, element) > 0 else {
      ASN1_TYPE_free(element)
      throw TLSError.last("encode a sequence")
    }
  }
}
