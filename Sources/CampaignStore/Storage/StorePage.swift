/// One page of a long list, and where the next one begins.
public struct StorePage<Element: Sendable>: Sendable {
  public var elements: [Element]
  /// Says where the next page begins; `nil` after the last. Texts of the store's own making, harmless in a URL.
  public var next: String?
}
