internal import PushCore
import Redis

/// Pages of the list of quarantined devices.
extension Results {
  /// Returns a page of quarantined devices, in no order. A device may appear twice if devices enter or leave the
  /// quarantine in the meantime. A page may have slightly more devices than requested. It may have far fewer if few
  /// devices match.
  ///
  /// - Parameter cursor: cursor of the previous page; `nil` for the first page.
  public func quarantined(
    from cursor: String?, count: Int, matching: (QuarantinedDevice) -> Bool
  ) async throws -> StorePage<QuarantinedDevice> {
    var (partition, position) = (0, "0")
    if let cursor {
      let parts = cursor.split(separator: "-").map(String.init)
      guard parts.count == 2, let number = Int(parts[0]), (0..<keys.partitions).contains(number),
        UInt64(parts[1]) != nil
      else { throw StoreError.invalidCursor }
      (partition, position) = (number, parts[1])
    }
    var page = StorePage<QuarantinedDevice>(elements: [], next: nil)
    var looked = 0
    while partition < keys.partitions {
      var pipeline = RedisPipeline()
      pipeline.append("HSCAN", keys.quarantine(partition), position, "COUNT", CampaignStore.batch)
      let reply = try await run(pipeline)[0]
      position = reply[0].string ?? "0"
      let pairs = reply[1]
      looked += 1 + pairs.count / 2
      for index in stride(from: 1, to: pairs.count, by: 2) {
        guard let token = pairs[index - 1].bytes.flatMap({ DeviceToken(bytes: $0) }),
          let device = QuarantinedDevice(token: token, note: pairs[index], services), matching(device)
        else { continue }
        page.elements.append(device)
      }
      if position == "0" { partition += 1 }
      if partition < keys.partitions, page.elements.count >= count || looked >= 10 * Campaigns.maximumRead {
        page.next = "\(partition)-\(position)"
        return page
      }
    }
    return page
  }
}
