/// Stores the devices of a list in the registry of APNs.
final class DeviceLineStore {
  private let registry: DeviceRegistry
  private var topics: [[UInt8]: DeviceRegistry.TopicID] = [:]

  init(registry: DeviceRegistry) { self.registry = registry }

  /// Reads a line and stores its device. Returns `false` for a header line.
  func take(_ line: UnsafeRawBufferPointer) throws(DeviceLine.Problem) -> Bool {
    guard let device = try DeviceLine(line) else { return false }
    let topic = device.topic.isEmpty ? DeviceRegistry.anyTopic : number(device.topic)
    let record = TokenTable.Record(
      state: device.state, topic: topic, timestamp: device.timestamp, environment: device.environment)
    let isToken = withUnsafeTemporaryAllocation(byteCount: 255, alignment: 8) { buffer in
      guard let count = Hex.decode(device.token, into: buffer) else { return false }
      registry.set(UnsafeRawBufferPointer(rebasing: buffer[..<count]), record)
      return true
    }
    if !isToken { throw DeviceLine.Problem("the token is not 2 to 510 hexadecimal digits, even in number") }
    return true
  }

  /// Returns the topic's number. A list has few topics, so the registry's lock is taken only once for each topic.
  private func number(_ topic: UnsafeRawBufferPointer) -> DeviceRegistry.TopicID {
    let topic = Array(topic)
    if let known = topics[topic] { return known }
    let number = registry.topicID(topic)
    topics[topic] = number
    return number
  }
}
