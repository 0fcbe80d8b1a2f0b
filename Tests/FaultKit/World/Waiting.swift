import TestSupport

/// Waits until a condition is true.
///
/// - Parameters:
///   - what: description for the error message.
///   - limit: limit of the wait.
///   - pause: shortest time between two checks, see `TestSupport.elapse(afterCheckSince:atLeast:)`.
///   - condition: evaluated repeatedly. An error, for example while Redis is not reachable, counts as false.
/// - Throws: `TestSupportError` after the limit, or ``ImpossibleCondition`` if the condition can't become true.
public func until(
  _ what: String, within limit: Duration = .seconds(60), every pause: Duration = .milliseconds(50),
  _ condition: () async throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + limit
  var trouble = ""
  while true {
    let start = ContinuousClock.now
    do {
      if try await condition() { return }
      trouble = ""
    } catch let error as ImpossibleCondition {
      throw error
    } catch {
      trouble = ": \(error)"
    }
    guard ContinuousClock.now < deadline else {
      throw TestSupportError("waited \(limit.components.seconds) s in vain until \(what)\(trouble)")
    }
    await elapse(afterCheckSince: start, atLeast: pause)
  }
}

/// An error for a condition that can't become true.
public struct ImpossibleCondition: Error, CustomStringConvertible {
  /// The reason.
  public var description: String

  /// - Parameter description: the reason.
  public init(_ description: String) { self.description = description }
}
