# Submits a campaign through HTTP: CARILLON_TOKEN=carillon_… ruby by-http.rb ID USER
require 'json'
require 'net/http'

id, user = ARGV
job = { id: id, app: 'news', audience: { users: [user] }, message: { body: 'Hello from Ruby' } }
answer = Net::HTTP.post(
  URI("#{ENV.fetch('CARILLON_URL', 'http://127.0.0.1:8080')}/api/v1/campaigns"), JSON.generate(job),
  'Authorization' => "Bearer #{ENV.fetch('CARILLON_TOKEN')}", 'Content-Type' => 'application/json')
# A refusal has a body by RFC 9457 with the error and a hint.
puts "#{answer.code} #{answer.body}"
exit answer.is_a?(Net::HTTPSuccess)
