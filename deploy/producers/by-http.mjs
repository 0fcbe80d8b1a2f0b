// Submits a campaign through HTTP: CARILLON_TOKEN=carillon_… node by-http.mjs ID USER
const [id, user] = process.argv.slice(2);
const { CARILLON_URL = 'http://127.0.0.1:8080', CARILLON_TOKEN } = process.env;

const answer = await fetch(`${CARILLON_URL}/api/v1/campaigns`, {
  method: 'POST',
  headers: { Authorization: `Bearer ${CARILLON_TOKEN}`, 'Content-Type': 'application/json' },
  body: JSON.stringify({ id, app: 'news', audience: { users: [user] }, message: { body: 'Hello from Node' } }),
  signal: AbortSignal.timeout(10_000),
});
// A refusal has a body by RFC 9457 with the error and a hint.
console.log(answer.status, await answer.text());
process.exitCode = answer.ok ? 0 : 1;
