// Registers a device and submits a campaign through Redis: node by-redis.mjs ID USER TOKEN
import { connect } from 'node:net';
import { once } from 'node:events';

const [id, user, token] = process.argv.slice(2);
const { REDIS_HOST = '127.0.0.1', REDIS_PORT = 6379, CARILLON_NAMESPACE = 'carillon' } = process.env;
const server = connect(REDIS_PORT, REDIS_HOST);

async function lpush(name, value) {
  const words = ['LPUSH', `{${CARILLON_NAMESPACE}}:${name}`, JSON.stringify(value)];
  server.write(`*3\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`);
  const [reply] = await once(server, 'data');
  if (!String(reply).startsWith(':')) throw new Error(`Redis: ${reply}`);
}

await lpush('registrations', { op: 'register', user, token, app: 'news', locale: 'en' });
await lpush('campaigns', { id, app: 'news', audience: { users: [user] }, message: { body: 'Hello from Node' } });
server.end();
