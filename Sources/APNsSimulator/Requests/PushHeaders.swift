internal import HTTP2

/// The header fields of a push request that the simulator uses. The values are views into the header list, and valid as
/// long as the list.
struct PushHeaders {
  private static let devicePath: StaticString = "/3/device/"

  private(set) var method: UnsafeRawBufferPointer?
  private(set) var path: UnsafeRawBufferPointer?
  private(set) var authorization: UnsafeRawBufferPointer?
  private(set) var id: UnsafeRawBufferPointer?
  private(set) var topic: UnsafeRawBufferPointer?
  private(set) var pushType: UnsafeRawBufferPointer?
  private(set) var expiration: UnsafeRawBufferPointer?
  private(set) var priority: UnsafeRawBufferPointer?
  private(set) var collapseID: UnsafeRawBufferPointer?
  /// Whether `authorization` or an APNs field is repeated.
  private(set) var hasDuplicates = false

  init(_ fields: borrowing HeaderFields) {
    for index in 0..<fields.count {
      let name = fields.name(index)
      let value = fields.value(index)
      switch name.count {
      case 5 where name.matches(":path"): path = value
      case 7 where name.matches(":method"): method = value
      case 7 where name.matches("apns-id"): Self.set(&id, value, &hasDuplicates)
      case 10 where name.matches("apns-topic"): Self.set(&topic, value, &hasDuplicates)
      case 13 where name.matches("authorization"): Self.set(&authorization, value, &hasDuplicates)
      case 13 where name.matches("apns-priority"): Self.set(&priority, value, &hasDuplicates)
      case 14 where name.matches("apns-push-type"): Self.set(&pushType, value, &hasDuplicates)
      case 15 where name.matches("apns-expiration"): Self.set(&expiration, value, &hasDuplicates)
      case 16 where name.matches("apns-collapse-id"): Self.set(&collapseID, value, &hasDuplicates)
      case 5... where name.begins(with: "apns-"):
        // The simulator does not use the value of this field, but a request must not repeat the field either.
        hasDuplicates = hasDuplicates || (0..<index).contains { fields.name($0).elementsEqual(name) }
      default: break
      }
    }
  }

  /// The part of `path` after `/3/device/`; `nil` for another path.
  var token: UnsafeRawBufferPointer? {
    guard let path, path.begins(with: Self.devicePath) else { return nil }
    return path.dropping(Self.devicePath.utf8CodeUnitCount)
  }

  private static func set(
    _ field: inout UnsafeRawBufferPointer?, _ value: UnsafeRawBufferPointer, _ hasDuplicates: inout Bool
  ) {
    if field == nil { field = value } else { hasDuplicates = true }
  }
}
