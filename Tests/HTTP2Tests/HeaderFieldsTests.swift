import HTTP2
import Testing

@Suite struct HeaderFieldsTests {
  @Test func keepsOrderAndCountsAsSettingsDo() {
    var fields = HeaderFields()
    fields.add(":path", "/")
    fields.add("a", "bcd")
    #expect(fields.count == 2)
    #expect(Array(fields.name(1)) == Array("a".utf8))
    #expect(Array(fields.value(1)) == Array("bcd".utf8))
    // RFC 9113 section 6.5.2: the octets of each field plus 32.
    #expect(fields.listSize == 6 + 4 + 64)
    #expect(fields["a"] == "bcd")
    #expect(fields["b"] == nil)
  }

  @Test func growsBeyondItsFirstMemory() {
    var fields = HeaderFields()
    let long = String(repeating: "x", count: 999)
    for number in 0..<50 { fields.add("name-\(number)", long + String(number)) }
    for number in 0..<50 { #expect(fields["name-\(number)"] == long + String(number)) }
    fields.removeAll()
    #expect(fields.count == 0)
    fields.add("again", "1")
    #expect(fields["again"] == "1")
  }

  @Test func emptyValuesAreValues() {
    var fields = HeaderFields()
    fields.add("empty", "")
    #expect(fields["empty"] == "")
    #expect(fields.value(0).isEmpty)
  }
}
