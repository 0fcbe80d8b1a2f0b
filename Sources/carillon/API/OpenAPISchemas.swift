import CommandSupport
import PushCore
import ServiceTools

/// The JSON Schemas (2020-12) of request and answer bodies, by name.
enum OpenAPISchemas {
  static let all: [String: String] = [
    "Job": JobSchema.outline(KnownServices.all.tools.map(\.service)),
    "Problem": """
    {"type":"object","required":["type","title","status","detail","code"],"properties":{"type":{"type":"string"},\
    "title":{"type":"string"},"status":{"type":"integer"},"detail":{"type":"string"},"code":{"type":"string",\
    "description":"The code of a command's error: usage, input, configuration, conflict, notFound, failed, unreachable, defect; or unauthorized, forbidden, rate, busy"},\
    "hint":{"type":["string","null"],"description":"The next step"}}}
    """,
    "Holder": """
    {"type":"object","required":["name","scopes"],"properties":{"name":{"type":"string"},\
    "scopes":{"type":"array","items":{"enum":["view","submit","operate","admin"]}}}}
    """,
    "Finding": """
    {"type":"object","required":["rule","severity","path","message"],"properties":{"rule":{"type":"string"},\
    "severity":{"enum":["error","warning"]},"path":{"type":"string"},"line":{"type":["integer","null"]},\
    "column":{"type":["integer","null"]},"message":{"type":"string"},"hint":{"type":["string","null"]},\
    "source":{"type":"string"}}}
    """,
    "Lint": """
    {"type":"object","required":["kind","pushType","sizes","errors","warnings","findings"],"properties":{\
    "kind":{"enum":["payload","job","template","legacy"]},"pushType":{"type":["string","null"]},\
    "inferred":{"type":"boolean"},"sizes":{"type":"array","items":{"type":"object",\
    "required":["for","bytes","limit","fits"],"properties":{"for":{"type":"string"},"bytes":{"type":"integer"},\
    "limit":{"type":"integer"},"fits":{"type":"boolean"}}}},"errors":{"type":"integer"},"warnings":{"type":"integer"},\
    "findings":{"type":"array","items":{"$ref":"#/components/schemas/Finding"}},"unchecked":{"type":["string","null"]}}}
    """,
    "Preview": """
    {"type":"object","required":["campaign","user","fixed","pushes"],"properties":{"campaign":{"type":"string"},\
    "user":{"type":"string"},"fixed":{"type":"boolean"},"variant":{"type":["string","null"]},"waits":{"type":"boolean"},"pushes":{"type":"array","items":{"type":"object",\
    "required":["service","token"],"properties":{"service":{"type":"string"},"token":{"type":"string"},"headers":{"type":"object",\
    "additionalProperties":{"type":"string"}},"payload":{"type":"object"},"bytes":{"type":"integer"},\
    "refused":{"type":"string"}}}}}}
    """,
    "Apps": """
    {"type":"object","required":["apps"],"properties":{"apps":{"type":"array","items":{"type":"object",\
    "required":["name","services"],"properties":{"name":{"type":"string"},"approvalAbove":{"type":["integer","null"]},\
    "services":{"type":"array","items":{"type":"object","required":["service"],"properties":{\
    "service":{"type":"string"},"topic":{"type":"string"},"environment":{"type":"string"},\
    "project":{"type":["string","null"]}}}}}}}}}
    """,
    "Submission": """
    {"type":"object","required":["id","duplicate","warnings"],"properties":{"id":{"type":"string"},\
    "duplicate":{"type":"boolean"},"warnings":{"type":"array","items":{"$ref":"#/components/schemas/Finding"}}}}
    """,
    "Estimate": """
    {"type":"object","required":["id","users","targets","bytes","warnings"],"properties":{"id":{"type":"string"},\
    "users":{"type":["integer","null"]},"targets":{"type":"integer"},"bytes":{"type":"integer"},\
    "warnings":{"type":"array","items":{"$ref":"#/components/schemas/Finding"}}}}
    """,
    "Campaign": """
    {"type":"object","required":["id","state"],"properties":{"id":{"type":"string"},\
    "state":{"enum":["queued","scheduled","waiting","active","paused","cancelled","completed","failed"]},\
    "pausedServices":{"type":"array","items":{"type":"string"},\
    "description":"push services whose legs are paused, while the other legs continue"},\
    "reason":{"type":["string","null"]},"needsApproval":{"type":"boolean"},"text":{"type":"string"},"submittedBy":{"type":"string"},\
    "approvedBy":{"type":"string"},"app":{"type":["string","null"]},"lane":{"type":["string","null"]},\
    "targets":{"type":["integer","null"]},"estimate":{"type":["integer","null"]},\
    "outcomes":{"type":"object","additionalProperties":{"type":"integer"}},"pending":{"type":["integer","null"]},\
    "inDoubt":{"type":["integer","null"]},"retrying":{"type":["integer","null"]},"pruned":{"type":["integer","null"]},\
    "quarantined":{"type":["integer","null"]},"resent":{"type":["integer","null"]},"slices":{"type":"object"},\
    "reach":{"type":"object","required":["audience","users","control","leftOut"],"description":"Users: audience = users \
    + control + the sum of leftOut","properties":{"audience":{"type":"integer"},"users":{"type":"integer"},\
    "control":{"type":"integer"},"leftOut":{"type":"object","additionalProperties":{"type":"integer"}},\
    "eventsNotApplied":{"type":"integer"},"noUserReason":{"type":"string"}}},\
    "variants":{"type":"array","items":{"type":"object","required":["name","weight","targets","outcomes","receipts"]}},\
    "winner":{"type":"object","required":["variant","by","minimum"]},\
    "backend":{"type":"object","required":["share","since","reason"]},\
    "parts":{"type":"array","items":{"type":"object","required":["id","state","targets","outcomes"]}},\
    "repeat":{"type":"object","required":["cron","runs","leftOut"],"properties":{"cron":{"type":"string"},\
    "next":{"type":["string","null"]},"runs":{"type":"integer"},"leftOut":{"type":"integer","description":"skipped runs"},\
    "last":{"type":["string","null"]},"open":{"type":"array","description":"runs that have not ended, oldest first",\
    "items":{"type":"object","required":["id","state"],"properties":{"id":{"type":"string"},"state":{"type":"string"},\
    "reason":{"type":["string","null"]},"targets":{"type":"integer"},\
    "outcomes":{"type":"object","additionalProperties":{"type":"integer"}}}}}}},\
    "gate":{"type":"object","required":["stage","opensAt"]},\
    "waiting":{"type":"object"},"createdAt":{"type":["string","null"]},"sendAt":{"type":["string","null"]},\
    "startedAt":{"type":["string","null"]},"finishedAt":{"type":["string","null"]}}}
    """,
    "Reason": #"{"type":"object","additionalProperties":false,"properties":{"reason":{"type":["string","null"]}}}"#,
    "Pause": """
    {"type":"object","additionalProperties":false,"properties":{"reason":{"type":["string","null"]},\
    "service":{"type":["string","null"]}}}
    """,
    "Resume": """
    {"type":"object","additionalProperties":false,"properties":{"unguarded":{"type":["boolean","null"]},\
    "service":{"type":["string","null"]}}}
    """,
    "Decide": """
    {"type":"object","additionalProperties":false,"required":["variant"],"properties":{"variant":{"type":"string"}}}
    """,
    "Decided": """
    {"type":"object","required":["id","state","variant","decidedAt"],"properties":{"id":{"type":"string"},\
    "state":{"type":"string"},"variant":{"type":"string"},"decidedAt":{"type":"string"},\
    "decidedBy":{"type":["string","null"]}}}
    """,
    "Controlled": """
    {"type":"object","required":["id","state","unconfirmed"],"properties":{"id":{"type":"string"},\
    "state":{"type":"string"},"unconfirmed":{"type":"array","items":{"type":"string"}},\
    "targets":{"type":"integer"},"outcomes":{"type":"object","additionalProperties":{"type":"integer"}},\
    "resumed":{"type":"array","items":{"type":"object","required":["id","reason"],"properties":{"id":\
    {"type":"string"},"reason":{"type":["string","null"]}}}},\
    "parts":{"type":"array","items":{"type":"object","required":["id","state","targets","outcomes"]}}}}
    """,
    "Nothing": #"{"type":"object","additionalProperties":false}"#,
    "Manifest": """
    {"type":"object","required":["manifest","campaign","sha256"],"properties":{"manifest":{"const":1},\
    "campaign":{"type":"string"},"app":{"type":"string"},"state":{"type":"string"},"isFinal":{"type":"boolean"},\
    "audience":{"type":"object"},"settings":{"type":"object"},"outcomes":{"type":"object"},\
    "timeline":{"type":"array","items":{"type":"object"}},"sha256":{"type":"string",\
    "description":"SHA-256 in hex of all bytes before this member; store copies unchanged"}}}
    """,
    "Held":
      #"{"type":"object","required":["id","holds"],"properties":{"id":{"type":"string"},"holds":{"const":true}}}"#,
    "Device": """
    {"type":"object","required":["user","token"],"properties":{"user":{"type":["string","integer"],"minLength":1},\
    "token":{"type":"string","minLength":1},"service":{"type":"string"},"kind":{"type":"string"},\
    "app":{"type":"string"},"environment":{"type":"string"},"locale":{"type":"string"},"timezone":{"type":"string"},\
    "appVersion":{"type":"string"},"osVersion":{"type":"string"},"registeredAt":{"type":["string","integer"]},\
    "lastSeen":{"type":["string","integer"]}},"additionalProperties":{"type":["string","number","boolean","null"]}}
    """,
    "Registered": """
    {"type":"object","required":["user","token","registeredAt"],"properties":{"user":{"type":"string"},\
    "token":{"type":"string"},"registeredAt":{"type":["string","null"]},\
    "refused":{"type":"string","description":"The reason why the device is stored without a time zone"}}}
    """,
    "Token": #"{"type":"object","required":["token"],"properties":{"token":{"type":"string"}}}"#,
    "User": """
    {"type":"object","required":["user","attributes","segments","devices"],"properties":{"user":{"type":"string"},\
    "attributes":{"type":"object"},"segments":{"type":"array","items":{"type":"string"}},\
    "suppression":{"type":"array","items":{"type":"object"}},"devices":{"type":"array","items":{"type":"object"}}}}
    """,
    "Erasure": """
    {"type":"object","required":["user","devices","segments"],"properties":{"user":{"type":"string"},\
    "devices":{"type":"integer"},"segments":{"type":"array","items":{"type":"string"}},\
    "suppression":{"type":"integer"},"campaigns":{"type":"integer"},"feedback":{"type":"integer"},\
    "completeBy":{"type":["string","null"],"format":"date-time"}}}
    """,
    "Segment": """
    {"type":"object","required":["segment","users"],"properties":{"segment":{"type":"string"},"users":{"type":"integer"}}}
    """,
    "Users": """
    {"type":"object","additionalProperties":false,"required":["users"],"properties":{"users":{"type":"array",\
    "minItems":1,"maxItems":10000,"items":{"type":["string","integer"],"minLength":1}}}}
    """,
    "Count": """
    {"type":"object","required":["expression","users","devices"],"properties":{"expression":{"type":"string"},\
    "users":{"type":"integer"},"devices":{"type":"integer"}}}
    """,
    "Quarantined": """
    {"type":"object","required":["token","user","app","reason","campaign","at"],"properties":{"token":{"type":"string"},\
    "user":{"type":"string"},"app":{"type":"string"},"reason":{"type":"string"},"campaign":{"type":"string"},\
    "at":{"type":"string"}}}
    """,
    "Selection": """
    {"type":"object","additionalProperties":false,"description":"Either tokens, or app or campaign or both, or all: true",\
    "properties":{"tokens":{"type":"array","minItems":1,"maxItems":500,"items":{"type":"string"}},\
    "service":{"type":"string"},"app":{"type":"string"},"campaign":{"type":"string"},"all":{"type":"boolean"}}}
    """,
    "Changed": #"{"type":"object","required":["devices"],"properties":{"devices":{"type":"integer"}}}"#,
    "Dead": """
    {"type":"object","required":["key","at","reason","job"],"properties":{"key":{"type":"string"},"at":{"type":"string"},\
    "id":{"type":["string","null"]},"reason":{"type":"string"},"hint":{"type":["string","null"]},\
    "size":{"type":"integer"},"cut":{"type":"boolean"},"job":{"type":"string"}}}
    """,
    "Key": #"{"type":"object","required":["key"],"properties":{"key":{"type":"string"}}}"#,
    "Keys": """
    {"type":"object","additionalProperties":false,"required":["keys"],"properties":{"keys":{"type":"array",\
    "minItems":1,"maxItems":500,"items":{"type":"string"}}}}
    """,
    "DeadJobsResult": """
    {"type":"object","required":["done","failed"],"properties":{"done":{"type":"array","items":{"type":"string"}},\
    "failed":{"type":"array","items":{"type":"object","required":["key","code","message"],"properties":{\
    "key":{"type":"string"},"code":{"type":"string"},"message":{"type":"string"},"hint":{"type":["string","null"]}}}}}}
    """,
    "Status": """
    {"type":"object","required":["healthy","at","alarms","workers","lanes","campaigns"],"properties":{\
    "healthy":{"type":"boolean"},"at":{"type":"string"},"alarms":{"type":"array","items":{"type":"object"}},\
    "workers":{"type":"object"},"lanes":{"type":"object"},"campaigns":{"type":"object"}}}
    """,
    "Wanted": """
    {"type":"object","required":["wantedWorkers","liveWorkers","remaining","reason"],"properties":{\
    "wantedWorkers":{"type":"integer","minimum":0},"liveWorkers":{"type":"integer"},"remaining":{"type":"integer"},\
    "reason":{"type":"string"}}}
    """,
    "Queue": """
    {"type":"object","required":["jobs","unseen","nameless"],"properties":{"jobs":{"type":"array",\
    "items":{"$ref":"#/components/schemas/Campaign"}},"unseen":{"type":"integer"},"nameless":{"type":"integer"}}}
    """,
    "Schedule": """
    {"type":"object","required":["scheduled"],"properties":{"scheduled":{"type":"array","items":{"type":"object",\
    "required":["id","at","needsApproval"],"properties":{"id":{"type":"string"},"at":{"type":"string"},\
    "needsApproval":{"type":"boolean"}}}}}}
    """,
    "Audit": """
    {"type":"object","required":["at","actor","action","subject","detail"],"properties":{"at":{"type":"string"},\
    "actor":{"type":"string"},"action":{"type":"string"},"subject":{"type":"string"},"detail":{"type":"string"}}}
    """,
  ]
}
