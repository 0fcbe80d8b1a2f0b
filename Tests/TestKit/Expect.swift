public import Testing

/// Records an issue if a condition is false.
///
/// Tests use this function and ``expect(_:is:_:sourceLocation:)`` instead of `#expect`, because the compiler needs a
/// third less time for a test module with them. The message of this function does not show the parts of the condition.
/// Therefore, a comment shows the values that a reader of a failure needs.
public func expect(
  _ condition: Bool, _ comment: @autoclosure () -> Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation
) {
  if !condition { Issue.record(comment() ?? "the condition is false", sourceLocation: sourceLocation) }
}

/// Records an issue with both values if a value is not the expected one.
public func expect<Value: Equatable>(
  _ value: Value, is expected: Value, _ comment: @autoclosure () -> Comment? = nil,
  sourceLocation: SourceLocation = #_sourceLocation
) {
  guard value != expected else { return }
  let difference = "\(String(reflecting: value)) is not \(String(reflecting: expected))"
  Issue.record(
    Comment(rawValue: comment().map { "\(difference): \($0)" } ?? difference), sourceLocation: sourceLocation)
}
