import HTTP2
import TestKit
import Testing

@Suite struct HeaderFieldsTests {
  @Test func keepsOrderAndCountsAsSettingsDo() {
    var fields = HeaderFields()
    fields.add(":path", "/")
    fields.add("a", "bcd")
    expect(fields.count, is: 2)
    expect(Array(fields.name(1)), is: Array("a".utf8))
    expect(Array(fields.value(1)), is: Array("bcd".utf8))
    // RFC 9113 section 6.5.2: the octets of each field plus 32.
    expect(fields.listSize, is: 6 + 4 + 64)
    expect(fields["a"], is: "bcd")
    expect(fields["b"], is: nil)
  }

  @Test func growsBeyondItsFirstMemory() {
    var fields = HeaderFields()
    let long = String(repeating: "x", count: 999)
    for number in 0..<50 { fields.add("name-\(number)", long + String(number)) }
    for number in 0..<50 { expect(fields["name-\(number)"], is: long + String(number)) }
    fields.removeAll()
    expect(fields.count, is: 0)
    fields.add("again", "1")
    expect(fields["again"], is: "1")
  }

  @Test func emptyValuesAreValues() {
    var fields = HeaderFields()
    fields.add("empty", "")
    expect(fields["empty"], is: "")
    expect(fields.value(0).isEmpty)
  }
}
