/// Ports of a simulator on this machine. 0 means a free port.
package struct SimulatorPorts: Equatable, Sendable {
  package let apns: UInt16
  package let control: UInt16
  package let fcm: UInt16
  /// Port of Google's token endpoint.
  package let token: UInt16

  /// Creates the ports. The default for the control API is `apns` + 1, for FCM `apns` + 2, and for the token endpoint
  /// `fcm` + 1. A default is 0 if the port from which it is calculated is 0, or if the result would be above 65,535.
  package init(
    apns: UInt16 = SimulatorFolder.port, control: UInt16? = nil, fcm: UInt16? = nil, token: UInt16? = nil
  ) {
    self.apns = apns
    self.control = control ?? Self.port(apns, plus: 1)
    self.fcm = fcm ?? Self.port(apns, plus: 2)
    self.token = token ?? Self.port(self.fcm, plus: 1)
  }

  /// The options of `carillon simulate` for these ports, with a blank before each option; empty for the default ports.
  package var options: String {
    var options = ""
    var known = SimulatorPorts()
    func add(_ option: String, _ port: UInt16, _ standard: UInt16) {
      if port != standard { options += " \(option) \(port)" }
    }
    add("--port", apns, known.apns)
    known = SimulatorPorts(apns: apns)
    add("--control-port", control, known.control)
    add("--fcm-port", fcm, known.fcm)
    add("--token-port", token, SimulatorPorts(apns: apns, fcm: fcm).token)
    return options
  }

  /// Whether all ports are known, so that a configuration can name them.
  package var areFixed: Bool { ![apns, control, fcm, token].contains(0) }

  private static func port(_ port: UInt16, plus more: UInt16) -> UInt16 {
    port == 0 || port > .max - more ? 0 : port + more
  }
}
