// Registers a device and submits a campaign through Redis: swiftc by-redis.swift && ./by-redis ID USER TOKEN
import Foundation

let arguments = CommandLine.arguments
guard arguments.count == 4 else { fatalError("by-redis ID USER TOKEN") }
let (id, user, token) = (arguments[1], arguments[2], arguments[3])

func setting(_ name: String, _ usual: String) -> String { ProcessInfo.processInfo.environment[name] ?? usual }

func connection(host: String, port: String) -> FileHandle {
  var hints = addrinfo()
  hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
  var found: UnsafeMutablePointer<addrinfo>?
  guard getaddrinfo(host, port, &hints, &found) == 0, let address = found?.pointee else { fatalError("no \(host)") }
  let descriptor = socket(address.ai_family, address.ai_socktype, address.ai_protocol)
  guard connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 else { fatalError("\(host):\(port): \(errno)") }
  return FileHandle(fileDescriptor: descriptor)
}

func lpush(_ server: FileHandle, _ name: String, _ value: some Encodable) throws {
  let json = String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
  let words = ["LPUSH", "{\(setting("CARILLON_NAMESPACE", "carillon"))}:\(name)", json]
  try server.write(contentsOf: Data("*3\r\n\(words.map { "$\($0.utf8.count)\r\n\($0)\r\n" }.joined())".utf8))
  let reply = String(decoding: server.availableData, as: UTF8.self)
  guard reply.hasPrefix(":") else { fatalError("Redis: \(reply)") }
}

struct Job: Encodable {
  struct Audience: Encodable { let users: [String] }
  let id: String, app: String, audience: Audience, message: [String: String]
}

let server = connection(host: setting("REDIS_HOST", "127.0.0.1"), port: setting("REDIS_PORT", "6379"))
try lpush(server, "registrations", ["op": "register", "user": user, "token": token, "app": "news", "locale": "en"])
try lpush(
  server, "campaigns",
  Job(id: id, app: "news", audience: .init(users: [user]), message: ["body": "Hello from Swift"]))
