import APNs
package import PushCore

extension PushServices {
  /// The push services that this program has.
  package static let known = PushServices(standard: APNsService())

  /// A service by the value of `--service`; the standard one without.
  package func named(_ name: String?) throws(CommandError) -> any PushService {
    guard let name else { return standard }
    guard let service = self[name] else {
      throw CommandError(
        .input, "--service: there is no push service \(Excerpt.quoted(name))", hint: Nearest.hint(name, among: names))
    }
    return service
  }
}

extension PushService {
  /// A token by the value of `--token`.
  package func token(argument: String) throws(CommandError) -> DeviceToken {
    guard let token = token(argument) else {
      throw CommandError(
        .input, "--token: not \(tokenForm)", hint: "a token is what the app got when it registered for pushes")
    }
    return token
  }
}
