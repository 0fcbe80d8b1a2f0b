import Glibc

/// The variables that Kubernetes sets in containers for every service, for example for a service whose name begins with
/// `carillon`:
/// `CARILLON_SERVICE_HOST=10.0.0.11`, `CARILLON_ADMIN_SERVICE_PORT_HTTP=8080`, `CARILLON_PORT=tcp://10.0.0.11:8080`,
/// `CARILLON_PORT_8080_TCP_ADDR=10.0.0.11`.
///
/// Source: Kubernetes, "Service", section "Environment variables".
enum KubernetesVariable {
  private static let kinds = ["tcp", "udp", "sctp"]

  /// Returns whether a variable has the form of those that Kubernetes creates. For example, `CARILLON_REDIS_PORT=6380`
  /// does not have it.
  static func matches(_ name: String, _ value: String) -> Bool {
    let words = name.split(separator: "_", omittingEmptySubsequences: false).map(String.init)
    return words.indices.dropFirst().contains { index in
      let rest = Array(words[(index + 1)...])
      return switch words[index] {
      case "SERVICE": rest == ["HOST"] ? isAddress(value) : rest.first == "PORT" && isPort(value)
      case "PORT": rest.isEmpty ? isURL(value) : isOfPort(rest, value)
      default: false
      }
    }
  }

  /// Returns whether the words after `PORT_` belong to a service: `8080_TCP`, `8080_TCP_ADDR` and similar.
  private static func isOfPort(_ words: [String], _ value: String) -> Bool {
    guard words.count == 2 || words.count == 3, isPort(words[0]), kinds.contains(words[1].lowercased()) else {
      return false
    }
    return switch words.dropFirst(2).first {
    case nil: isURL(value)
    case "ADDR": isAddress(value)
    case "PORT": value == words[0]
    case "PROTO": value == words[1].lowercased()
    default: false
    }
  }

  /// Returns whether the text is a URL such as `tcp://10.0.0.11:8080`.
  private static func isURL(_ text: String) -> Bool {
    guard let separator = text.firstRange(of: "://"), kinds.contains(String(text[..<separator.lowerBound])),
      let colon = text.lastIndex(of: ":"), colon > separator.lowerBound
    else { return false }
    var host = text[separator.upperBound..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    return isAddress(String(host)) && isPort(String(text[text.index(after: colon)...]))
  }

  /// Returns whether the text is an IP address. These variables contain addresses, never names.
  private static func isAddress(_ text: String) -> Bool {
    // inet_pton(3): writes at most the 16 bytes of an in6_addr, and returns 1 for an address of the family.
    var address = in6_addr()
    return inet_pton(AF_INET, text, &address) == 1 || inet_pton(AF_INET6, text, &address) == 1
  }

  private static func isPort(_ text: String) -> Bool { UInt16(text).map { $0 > 0 } ?? false }
}
