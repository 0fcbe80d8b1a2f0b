import PushCore

/// The JSON Schema of a job: of what can be said without knowing the app's push service, which has rules of its own. What
/// the schema lets through may still be refused; what is a job, it lets through.
enum JobSchema {
  /// The document at `/api/v1/job.schema.json`.
  static var document: String {
    schema.replacing(
      "{", with: #"{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"A job of Carillon","#,
      maxReplacements: 1)
  }

  /// Members and what they are; a field of a job that is not here is taken as it comes.
  private static let known: [String: String] = [
    "id": #"{"type":"string","pattern":"^[A-Za-z0-9._-]{1,64}$"}"#,
    "app": #"{"type":"string"}"#,
    "audience": #"{"type":"object"}"#,
    "payload": #"{"type":"object"}"#,
    "pushType": #"{"type":["string","null"]}"#,
    "priority": #"{"type":["integer","null"],"enum":[1,5,10,null]}"#,
    "expiration": #"{"type":["string","integer","null"]}"#,
    "collapseId": #"{"type":["string","null"],"minLength":1,"maxLength":64}"#,
    "lane": #"{"enum":["urgent","normal","bulk",null]}"#,
    "sendAt": #"{"type":["string","null"]}"#,
    "rate": #"{"type":["number","null"],"exclusiveMinimum":0,"maximum":1000000}"#,
    "spread": #"{"type":["string","null"]}"#,
    "finishBy": #"{"type":["string","null"]}"#,
    "results": #"{"enum":["all","failures","none",null]}"#,
    "ambiguity": #"{"enum":["resend","skip",null]}"#,
    "ttl": #"{"type":["string","null"]}"#,
    "category": #"{"type":["string","null"],"pattern":"^[A-Za-z0-9._-]{1,64}$"}"#,
    "transactional": #"{"type":["boolean","null"]}"#,
    "variants": variants,
    "winner": winner,
    "also": #"{"type":["array","null"],"items":{"type":"string"},"uniqueItems":true}"#,
  ]

  private static let variants =
    #"{"type":["array","null"],"minItems":2,"maxItems":8,"items":{"type":"object","required":["name"],"#
    + #""additionalProperties":false,"properties":{"name":{"type":"string","pattern":"^[A-Za-z0-9._-]{1,64}$"},"#
    + #""weight":{"type":["number","null"],"exclusiveMinimum":0,"maximum":1000000},"payload":{"type":["object","null"]},"#
    + #""localized":{"type":["object","null"]},"template":{"type":["string","null"]}}}}"#

  private static let winner =
    #"{"type":["object","null"],"required":["after","share"],"additionalProperties":false,"properties":{"#
    + #""by":{"enum":["opened","delivered","accepted",null]},"after":{"type":"string"},"#
    + #""share":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1},"#
    + #""minimum":{"type":["integer","null"],"minimum":1},"otherwise":{"type":["string","null"]}}}"#

  static var schema: String {
    let properties = CampaignJob.fields.map { "\"\($0)\":\(known[$0] ?? "{}")" }.joined(separator: ",")
    return "{\"type\":\"object\",\"required\":[\"id\",\"app\",\"audience\"],\"additionalProperties\":false,"
      + #""anyOf":[{"required":["payload"]},{"required":["template"]},{"required":["variants"]}],"#
      + "\"properties\":{\(properties)}}"
  }
}
