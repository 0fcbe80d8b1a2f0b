import PushCore
import ServiceTools
import Yams

/// Reads values from YAML.
extension ConfigurationNode {
  /// Maximum number of values in a file. An alias counts as all values that it refers to, because a few lines of
  /// aliases can expand to billions of values. A configuration of a hundred apps has some 2,000 values.
  static let maximumValues = 50_000

  /// Parses YAML; an empty file is an empty section.
  static func parse(yaml: String, file: String) throws(ConfigurationError) -> ConfigurationNode {
    do {
      guard let root = try Yams.compose(yaml: yaml) else {
        return ConfigurationNode(content: .section([:]), origin: file)
      }
      var left = maximumValues
      return try convert(root, key: "", file: file, left: &left)
    } catch let error as ConfigurationError {
      throw error
    } catch let error as YamlError {
      throw ConfigurationError(key: "", message: "not valid YAML: \(shortened(error))", origin: file)
    } catch {
      throw ConfigurationError(key: "", message: "not valid YAML: \(error)", origin: file)
    }
  }

  private static func convert(
    _ node: Node, key: String, file: String, left: inout Int
  ) throws(ConfigurationError) -> ConfigurationNode {
    let origin = node.mark.map { "\(file) line \($0.line)" } ?? file
    left -= 1
    guard left >= 0 else {
      throw ConfigurationError(
        key: "", message: "has more than \(maximumValues) values, including the values of each alias (*name)",
        origin: origin, hint: "write out the values, or use fewer aliases")
    }
    switch node {
    case .scalar(let scalar):
      // In YAML, an unquoted null or ~ means that the value is missing.
      let isNull = scalar.style == .plain && ["", "~", "null"].contains(scalar.string)
      return ConfigurationNode(content: .scalar(isNull ? "" : scalar.string), origin: origin)
    case .mapping(let mapping):
      var children: [String: ConfigurationNode] = [:]
      for (name, value) in mapping {
        guard let name = name.scalar?.string else {
          throw ConfigurationError(key: key, message: "a key must be a plain word", origin: origin)
        }
        children[name] = try convert(value, key: key.isEmpty ? name : "\(key).\(name)", file: file, left: &left)
      }
      return ConfigurationNode(content: .section(children), origin: origin)
    case .sequence(let sequence):
      var elements: [ConfigurationNode] = []
      for (number, element) in sequence.enumerated() {
        elements.append(try convert(element, key: "\(key)[\(number)]", file: file, left: &left))
      }
      return ConfigurationNode(content: .list(elements), origin: origin)
    case .alias:
      return ConfigurationNode(content: .list([]), origin: origin)
    }
  }

  /// Returns Yams' description of an error without the excerpt of the file, which Yams adds below it.
  private static func shortened(_ error: YamlError) -> String {
    switch error {
    case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
      .composer(_, let problem, let mark, _):
      return "line \(mark.line), column \(mark.column): \(problem)"
    case .duplicatedKeysInMapping(let duplicates, let context):
      let keys = duplicates.sorted().map { Excerpt.quoted($0) }.joined(separator: ", ")
      return "line \(context.mark.line): the section that begins here has the same key twice: \(keys)"
    default:
      return String("\(error)".prefix { $0 != "\n" })
    }
  }
}
