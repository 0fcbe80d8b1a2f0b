import PushCore
import PushWorker
import ServiceTools

/// Output of `campaign preview`: the complete requests, including the headers of the app's channel.
struct PreviewReport {
  private let preview: PushPreview
  private let channel: AppChannel

  init(_ preview: PushPreview, channel: AppChannel) {
    self.preview = preview
    self.channel = channel
  }

  /// Only the pushes, one below the other. If there are variants, the first line is the user's variant.
  var text: String {
    if preview.waits, let variants = preview.campaign.message.variants {
      return "\(Excerpt.quoted(preview.user)) waits for the best variant: \(variants)"
    }
    return (preview.variant.map { "variant \($0)\n\n" } ?? "") + requests
  }

  private var requests: String {
    guard !preview.pushes.isEmpty else { return "\(Excerpt.quoted(preview.user)) has no device that it goes to" }
    let service = channel.service
    return preview.pushes.map { token, push in
      guard let push else {
        return "! \(service.reasonName(of: .payloadTooLarge)): nothing is sent to \(service.shortText(of: token))"
      }
      return report(push).request
    }
    .joined(separator: "\n\n")
  }

  var json: String { preview.json { push, json in report(push).write(to: &json) } }

  private func report(_ push: PreparedPush) -> SendReport {
    SendReport(
      push: SinglePush(tools: preview.tools, channel: channel, prepared: push), findings: [])
  }
}
