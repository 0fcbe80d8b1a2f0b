import PushTransport
import TestKit
import TestSupport
import Testing

@testable import CampaignStore
@testable import PushWorker

/// Retries of a webhook, and the changes that it gets.
struct WebhookPolicyTests {
  private static let change = Change(
    id: "5-0", at: 5, subject: .campaign(id: "a", state: "paused"), text: "why", isByWorker: true)

  @Test func pausesDoubleUpToTenMinutesAndSuccessEndsThem() {
    var status = WebhookStatus(name: "w", position: "1-0")
    var pauses: [Int] = []
    for _ in 0..<12 {
      status = WebhookPolicy.after(status, Self.change, error: "no", now: 1000)
      pauses.append((status.retryAt - 1000) / 1000)
    }
    expect(pauses, is: [2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600, 600])
    expect(status.position == "1-0" && status.failures == 12 && status.error == "no")
    expect(
      WebhookPolicy.after(status, Self.change, error: nil, now: 1), is: WebhookStatus(name: "w", position: "5-0"))
    for _ in 0..<100 { status = WebhookPolicy.after(status, Self.change, error: "no", now: 0) }
    expect(status.retryAt, is: 600_000)
  }

  @Test func webhookGetsTheKindsItRequested() {
    let alarm = Change(
      id: "6-0", at: 6, subject: .alarm(kind: "dead", subject: "dead", isRaised: false), text: "t", isByWorker: false)
    let webhook = { (kinds: Set<Webhook.Kind>) in Webhook(name: "w", url: "https://a", secret: [], kinds: kinds) }
    expect(
      WebhookPolicy.concerns(Self.change, webhook([.campaigns]))
        && !WebhookPolicy.concerns(Self.change, webhook([.alarms])))
    expect(WebhookPolicy.concerns(alarm, webhook([.alarms])) && !WebhookPolicy.concerns(alarm, webhook([.campaigns])))
    expect(
      String(decoding: WebhookPolicy.body(alarm, namespace: "n", nil), as: UTF8.self),
      is:
        #"{"event":"6-0","at":"1970-01-01T00:00:00.006Z","namespace":"n","kind":"alarm","state":"cleared","alarm":{"kind":"dead","subject":"dead","text":"t"}}"#
    )
    expect(
      String(decoding: WebhookPolicy.body(Self.change, namespace: "n", nil), as: UTF8.self),
      is:
        #"{"event":"5-0","at":"1970-01-01T00:00:00.005Z","namespace":"n","kind":"campaign","state":"paused","reason":"why","pausedItself":true,"campaign":{"id":"a"}}"#
    )
  }
}
