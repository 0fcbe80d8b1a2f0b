import APNs
import PushCore
import PushWorker

/// What a campaign sends a user, as `campaign preview` shows it.
struct PreviewReport {
  /// One device's.
  struct Push {
    var token: DeviceToken
    /// `nil` when the payload would be too large: nothing is sent.
    var push: SinglePush?
  }

  let campaign: Campaign
  let user: String
  /// Whether it is fixed already.
  let isFixed: Bool
  /// The user's variant; `nil` where all are told the same, and while it is not known.
  let variant: String?
  /// Whether the user waits for the best variant, which nobody has said yet.
  let waits: Bool
  let pushes: [Push]

  init(_ preview: PushPreview, channel: AppChannel) {
    (campaign, user, isFixed) = (preview.campaign, preview.user, preview.isFixed)
    (variant, waits) = (preview.variant, preview.waits)
    pushes = preview.pushes.map { token, push in
      Push(
        token: token,
        push: push.map {
          SinglePush(channel: channel, headers: $0.headers, token: token, payload: $0.payload, id: $0.id)
        })
    }
  }

  /// Nothing but the pushes, one under the other; where there are variants, that of the user first.
  var text: String {
    if waits, let variants = campaign.variants {
      return "\(Excerpt.quoted(user)) waits for the best variant: \(variants)"
    }
    return (variant.map { "variant \($0)\n\n" } ?? "") + requests
  }

  private var requests: String {
    guard !pushes.isEmpty else { return "\(Excerpt.quoted(user)) has no device that it goes to" }
    return pushes.map { push in
      guard let push = push.push else {
        return "! \(tooLarge): nothing is sent to \(APNsService().shortText(of: push.token))"
      }
      return SendReport(push: push, findings: []).request
    }
    .joined(separator: "\n\n")
  }

  private var tooLarge: String { APNsService().reasonName(of: .payloadTooLarge) }

  var json: String {
    var json = JSONWriter()
    json.beginObject()
    json.member("campaign", campaign.id)
    json.member("user", user)
    json.member("fixed", isFixed)
    if campaign.variants != nil {
      json.member("variant", variant)
      json.member("waits", waits)
    }
    json.name("pushes")
    json.beginArray()
    for push in pushes {
      json.beginObject()
      json.member("token", APNsService().text(of: push.token))
      if let push = push.push {
        SendReport(push: push, findings: []).write(to: &json)
        json.member("bytes", push.payload.count)
      } else {
        json.member("refused", tooLarge)
      }
      json.endObject()
    }
    json.endArray()
    json.endObject()
    return json.text
  }
}
