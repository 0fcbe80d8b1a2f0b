internal import PushCore
internal import TLS

/// Reason why a connection of the native engine ended.
struct NativeFailure: Error, Sendable, CustomStringConvertible {
  /// Description for logs.
  let description: String
  /// Alert with which the service refused the client's certificate.
  var alert: TLSAlert?

  init(_ description: String) { self.description = description }

  init(_ error: any Error) {
    switch error {
    case let failure as NativeFailure: self = failure
    case let error as TLSError:
      description = error.description
      alert = error.alert.flatMap(TLSAlert.init(rawValue:))
    default: description = "\(error)"
    }
  }
}
