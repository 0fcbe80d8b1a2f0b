import PushCore
import PushWorker
import ServiceTools

/// Output of `campaign preview`: the complete requests, including the headers of each push service.
struct PreviewReport {
  private let preview: PushPreview
  private let app: AppChannel

  init(_ preview: PushPreview, app: AppChannel) {
    self.preview = preview
    self.app = app
  }

  /// The pushes as text, one below the other. If there are variants, the first line is the user's variant.
  var text: String {
    if preview.waits, let variants = preview.campaign.message.variants {
      return "user \(Excerpt.quoted(preview.user)) waits for the winning variant: \(variants)"
    }
    return (preview.variant.map { "variant \($0)\n\n" } ?? "") + requests
  }

  private var requests: String {
    guard !preview.pushes.isEmpty else {
      return "user \(Excerpt.quoted(preview.user)) has no device that matches the job"
    }
    return preview.pushes.compactMap { push in
      guard let prepared = push.push else {
        let service = push.tools.service
        return
          "! \(service.reasonName(of: .payloadTooLarge)): no push is sent to \(service.shortText(of: push.token))"
      }
      return report(prepared, push.tools)?.request
    }
    .joined(separator: "\n\n")
  }

  var json: String { preview.json { push, tools, json in report(push, tools)?.write(to: &json) } }

  private func report(_ push: PreparedPush, _ tools: any PushServiceTools) -> SendReport? {
    guard let channel = app[tools.service.name] else { return nil }
    return SendReport(push: SinglePush(tools: tools, channel: channel, prepared: push), findings: [])
  }
}
