# Registers a device and submits a campaign through Redis: ruby by-redis.rb ID USER TOKEN
require 'json'
require 'socket'

id, user, token = ARGV
SERVER = TCPSocket.new(ENV.fetch('REDIS_HOST', '127.0.0.1'), ENV.fetch('REDIS_PORT', 6379))

def lpush(name, value)
  words = ['LPUSH', "{#{ENV.fetch('CARILLON_NAMESPACE', 'carillon')}}:#{name}", JSON.generate(value)]
  SERVER.write("*3\r\n", *words.map { |word| "$#{word.bytesize}\r\n#{word}\r\n" })
  reply = SERVER.gets
  abort "Redis: #{reply}" unless reply&.start_with?(':')
end

lpush 'registrations', op: 'register', user: user, token: token, app: 'news', locale: 'en'
lpush 'campaigns', id: id, app: 'news', audience: { users: [user] }, message: { body: 'Hello from Ruby' }
