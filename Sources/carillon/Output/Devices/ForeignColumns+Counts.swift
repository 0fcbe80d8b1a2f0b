import CommandSupport
import PushCore

extension ForeignColumns {
  /// Text about the parts of another system's export that an import omits. The text follows the counts of the import.
  var countsText: String {
    var text = leftOut.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { ", \($0.value.grouped) omitted: \($0.key)" }.joined()
    for column in columns where column.unusable > 0 {
      text +=
        "\n\(Excerpt.bare(column.name)): \(column.unusable.grouped) values are omitted, such as "
        + "\(column.example ?? "")"
    }
    if !unknown.isEmpty {
      text +=
        "\nunknown columns are omitted: \(unknown.map { Excerpt.bare($0) }.joined(separator: ", ")); "
        + "--allow-attribute NAME imports one as an attribute"
    }
    return text
  }

  /// Writes the omitted parts as members of the open JSON object.
  func appendCounts(to json: inout JSONWriter) {
    guard !columns.isEmpty else { return }
    json.object("leftOut") { json in
      for (reason, count) in leftOut.sorted(by: { $0.key < $1.key }) { json.member(reason, count) }
    }
    json.object("unusable") { json in
      for column in columns where column.unusable > 0 { json.member(column.name, column.unusable) }
    }
    json.array("unknown", unknown)
  }
}
