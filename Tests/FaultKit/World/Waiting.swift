import Dispatch
import TestSupport

/// Waits until something is so.
///
/// - Parameters:
///   - what: named when it does not come.
///   - limit: when to give up.
///   - condition: asked again and again; one that throws, as when Redis is away, is not so yet.
/// - Throws: `TestSupportError` when the limit has passed, or what makes waiting useless: ``Hopeless``.
public func until(
  _ what: String, within limit: Duration = .seconds(60), every pause: Duration = .milliseconds(50),
  _ condition: () async throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + limit
  var trouble = ""
  while true {
    do {
      if try await condition() { return }
      trouble = ""
    } catch let error as Hopeless {
      throw error
    } catch {
      trouble = ": \(error)"
    }
    guard ContinuousClock.now < deadline else {
      throw TestSupportError("waited \(limit.components.seconds) s in vain until \(what)\(trouble)")
    }
    await elapse(pause)
  }
}

/// What is waited for can't come any more.
public struct Hopeless: Error, CustomStringConvertible {
  /// Why.
  public var description: String

  /// - Parameter description: why.
  public init(_ description: String) { self.description = description }
}

/// Lets time pass: only for faults that *are* a duration, for the pace of injections, and between two looks.
public func elapse(_ duration: Duration) async {
  let (seconds, attoseconds) = duration.components
  let nanoseconds = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
  await withCheckedContinuation { continuation in
    DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) { continuation.resume() }
  }
}
