/// Value of the configuration, and the place where it was written.
public struct ConfigurationNode: Sendable, Equatable {
  /// Kind of a value. A key without a value is an empty scalar and counts as missing.
  public enum Content: Sendable, Equatable {
    case scalar(String)
    case section([String: ConfigurationNode])
    case list([ConfigurationNode])
  }

  /// The value.
  public var content: Content
  /// Place of the value, for error messages: `carillon.yaml line 3`, or the name of an environment variable.
  public var origin: String

  /// Creates an instance with these values.
  public init(content: Content, origin: String) { (self.content, self.origin) = (content, origin) }

  /// Sets a scalar value at a path, and creates the missing sections of the path.
  public mutating func set(_ path: ArraySlice<String>, to text: String, origin: String) {
    guard let key = path.first else {
      self = ConfigurationNode(content: .scalar(text), origin: origin)
      return
    }
    var children: [String: ConfigurationNode] = [:]
    if case .section(let present) = content { children = present }
    var child = children[key] ?? ConfigurationNode(content: .section([:]), origin: origin)
    child.set(path.dropFirst(), to: text, origin: origin)
    children[key] = child
    content = .section(children)
  }
}
