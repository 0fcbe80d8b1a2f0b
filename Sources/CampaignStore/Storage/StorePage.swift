/// One page of a long list, and the position of the next page.
public struct StorePage<Element: Sendable>: Sendable {
  public var elements: [Element]
  /// Position of the next page; `nil` after the last page. The store creates this text, and it is safe in a URL.
  public var next: String?
}
