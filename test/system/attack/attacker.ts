/**
 * A separate process, so that the attackers' work does not distort the user's measurements. Messages start attacks; it
 * replies with the results.
 */
import { Agent, request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { SeededRandom } from '../harness/seeded-random.ts';
import type { Attack, Flood, Hold } from './attacks.ts';

export interface Order {
  attack: Attack;
  port: number;
  addresses: readonly string[];
  seed: number;
}

/** Statuses, and how often each came. */
export type Results = Record<string, number>;

const tickMs = 20;
/** Limit of unanswered requests, and of connections opened in one tick. */
const maxOutstanding = 400;
const maxOpened = 25;
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

let stop: (() => void) | undefined;
let results: Results = {};

/** Counts for the present attack only: later results of an earlier one are ignored. */
function counter(): (status: string) => void {
  const own = results;
  return (status) => {
    own[status] = (own[status] ?? 0) + 1;
  };
}

process.on('message', (order: Order | 'stop') => {
  stop?.();
  stop = undefined;
  if (order === 'stop') {
    process.send!(results);
    return;
  }
  results = {};
  stop = order.attack.kind === 'flood' ? flood(order.attack, order) : hold(order.attack, order);
});
process.on('disconnect', () => process.exit());

function flood({ rate, method, path, headers, body }: Flood, { port, addresses, seed }: Order): () => void {
  const count = counter();
  const random = new SeededRandom(seed);
  const agents = addresses.map((localAddress) => new Agent({ keepAlive: true, maxSockets: 16, localAddress }));
  const text = (value: string): string =>
    value.replaceAll('*', () => Array.from({ length: 36 }, () => letters[random.below(letters.length)]).join(''));
  let outstanding = 0;
  let due = 0;
  const timer = setInterval(() => {
    for (due += (rate * tickMs) / 1000; due >= 1; due -= 1) {
      if (outstanding >= maxOutstanding) continue;
      outstanding += 1;
      const sent = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [
          name,
          name === 'Date' ? new Date().toUTCString() : text(value),
        ]),
      );
      const request = httpRequest({
        host: '127.0.0.1',
        port,
        method,
        path,
        agent: agents[random.below(agents.length)]!,
        headers: sent,
      });
      request.on('response', (response) => {
        count(String(response.statusCode));
        response.resume().on('error', () => undefined);
      });
      request.on('error', () => count('cut off')).on('close', () => (outstanding -= 1));
      request.end(body === undefined ? undefined : text(body));
    }
  }, tickMs);
  return () => {
    clearInterval(timer);
    for (const agent of agents) agent.destroy();
  };
}

function hold({ count: wanted, first, drip, reads, isHalfClosed }: Hold, { port, addresses }: Order): () => void {
  const count = counter();
  const sockets = new Set<Socket>();
  let opened = 0;
  const open = (): void => {
    const socket = connect({
      port,
      host: '127.0.0.1',
      localAddress: addresses[opened % addresses.length]!,
      allowHalfOpen: isHalfClosed === true,
    });
    opened += 1;
    sockets.add(socket);
    socket
      .on('connect', () => (isHalfClosed === true ? socket.end(first) : socket.write(first)))
      .on('error', () => undefined);
    socket.on('close', () => {
      sockets.delete(socket);
      count('closed');
    });
    if (reads)
      socket.on('data', (bytes: Buffer) =>
        count(/^HTTP\/1.1 (\d+)/.exec(bytes.toString('latin1', 0, 20))?.[1] ?? 'more'),
      );
  };
  const opening = setInterval(() => {
    for (let i = 0; i < maxOpened && sockets.size < wanted; i += 1) open();
  }, tickMs);
  const dripping = setInterval(() => {
    if (drip !== '') for (const socket of sockets) if (socket.writable) socket.write(drip);
  }, 1000);
  return () => {
    clearInterval(opening);
    clearInterval(dripping);
    count(`held ${sockets.size}`);
    for (const socket of sockets) socket.removeAllListeners('close').destroy();
  };
}
