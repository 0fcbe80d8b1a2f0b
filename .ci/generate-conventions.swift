// Writes Sources/PushCore/Languages/ConventionTable.swift: the formats of numbers and dates by locale.
//
//     cp .ci/generate-conventions.swift /tmp/main.swift
//     swiftc -o /tmp/conventions /tmp/main.swift Sources/PushCore/Languages/Language{Tag,Subtags,Index,Table}.swift
//     /tmp/conventions > Sources/PushCore/Languages/ConventionTable.swift
//
// The data comes from the toolchain's Foundation: ICU 76 with CLDR 46 in Swift 6.3. A locale with the convention of its
// parent has no entry. All digits are Latin.
import Foundation

let languages = Set(
  "ar bg ca cs da de el en es fi fr he hi hr hu id it ja ko ms nb nl pl pt ro ru sk sv th tr uk vi zh".split(
    separator: " "
  )
  .map(String.init))

struct Convention: Equatable {
  var group, decimal, minus: String
  var grouping: String
  var date, long, time: String
  var halves: [String]
  var months: String
}

func convention(_ identifier: String) -> Convention {
  let locale = Locale(identifier: identifier + "@numbers=latn;calendar=gregorian")
  func pattern(_ template: String) -> String {
    DateFormatter.dateFormat(fromTemplate: template, options: 0, locale: locale) ?? ""
  }
  let numbers = NumberFormatter()
  numbers.locale = locale
  numbers.numberStyle = .decimal
  let dates = DateFormatter()
  dates.locale = locale
  let (date, long, time) = (pattern("yMd"), pattern("yMMMMd"), pattern("jm"))
  let million = 1_234_567.formatted(.number.locale(locale))
  let thousand = 1_234.formatted(.number.locale(locale))
  let group = numbers.groupingSeparator ?? ""
  let grouping =
    million.components(separatedBy: group).map(\.count) == [2, 2, 3]
    ? "indian" : thousand == "1234" ? "fromTenThousand" : "thousands"
  let negative = (-5).formatted(.number.locale(locale))
  return Convention(
    group: group, decimal: numbers.decimalSeparator ?? ".", minus: String(negative.dropLast()), grouping: grouping,
    date: date, long: long, time: time, halves: time.contains("a") ? [dates.amSymbol, dates.pmSymbol] : ["", ""],
    months: long.contains("MMMM") ? dates.monthSymbols.joined(separator: "|") : "")
}

/// Returns the contents of a multi-line string literal, with invisible characters as numbers.
func escaped(_ text: String) -> String {
  var result = ""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\u{a0}", "\u{202f}", "\u{2019}", "\u{200e}", "\u{200f}":
      result += "\\u{" + String(scalar.value, radix: 16) + "}"
    default: result.unicodeScalars.append(scalar)
    }
  }
  return result
}

var known: [(tag: LanguageTag, convention: Convention)] = []
var months: [(name: String, text: String)] = []
var rows: [String] = []

let tags = Locale.availableIdentifiers.compactMap { LanguageTag($0.utf8) }
  .filter { tag in languages.contains(LanguageSubtags.text(UInt64(tag.language))) && tag.variant == 0 }
func depth(_ tag: LanguageTag) -> Int { tag.parent.map { depth($0) + 1 } ?? 0 }

// Parents come first, so that a child is compared with its parent's row in the table.
for tag in Set(tags).sorted(by: { (depth($0), $0.description) < (depth($1), $1.description) }) {
  guard !known.contains(where: { $0.tag.isSame(as: tag) }) else { continue }
  let own = convention(tag.description.replacingOccurrences(of: "-", with: "_"))
  if let place = tag.nearest(in: known, \.tag), known[place].convention == own { continue }
  known.append((tag, own))
}

for (tag, own) in known.sorted(by: { $0.tag.description < $1.tag.description }) {
  var names = ""
  if !own.months.isEmpty {
    names = months.first { $0.text == own.months }?.name ?? tag.description
    if names == tag.description { months.append((names, own.months)) }
  }
  let fields =
    [tag.description, own.group, own.decimal, own.grouping, own.minus, own.date, own.long, own.time] + own.halves + [
      names
    ]
  rows.append("    " + escaped(fields.joined(separator: ";")))
}

print(
  """
  /// Conventions for numbers and dates in the usual languages, and in regions with other conventions. The data is that
  /// of Unicode CLDR 46 in the toolchain's Foundation. `.ci/generate-conventions.swift` writes this file: change the
  /// script, not the file.
  enum ConventionTable {
    /// A row for each locale: tag, separator of groups, decimal separator, grouping, minus sign, short date, long date,
    /// time, the halves of the day, and the locale of the names of its months.
    static let rows = \"""
  """)
print(rows.joined(separator: "\n"))
print("    \"\"\"")
print("\n  /// The names of the months, by locale.\n  static let months = \"\"\"")
for (name, text) in months { print("    \(name);\(escaped(text))") }
print("    \"\"\"")
print("}")
