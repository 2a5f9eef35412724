/** The attack, in a process of its own: what it costs to send is not to slow down who measures. */
import { Agent, request as newRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { serveJobs } from '../bench/worker.ts';
import { collectionOf, documentOf } from './tenant-model.ts';

export interface AttackJob {
  port: number;
  /** The header's value. */
  authorization: string;
  namespace: string;
  seconds: number;
  /** Of the attack, only these; default all. */
  only?: readonly string[];
}

/** Answers by kind of request and status; `end` where the connection ended before one. */
export type AttackTally = Record<string, Record<string, number>>;

/** Within the limit of a body, and of what an object may take. */
const largeBytes = 2_900_000;
/** An object of 100 000 values and keys, the most there may be: small on the wire, large once it is parsed. */
const denseParts = 49_000;
/** Objects of a megabyte that lists and watches read. */
const listed = 40;
/** After a refusal: as fast as an impatient client, not as fast as a machine can that also has to run the server. */
const pauseMs = 200;
const agent = new Agent({ keepAlive: true, maxSockets: 1000 });

interface Attempt {
  kind: string;
  method?: string;
  path: string;
  body?: Buffer | undefined;
  contentType?: string;
  /** Reads so many bytes of the answer, then nothing for so long, then hangs up. */
  stalls?: { bytes: number; ms: number };
  /** Asks so many times at once on a connection of its own, reads nothing for so long, then hangs up. */
  unread?: { count: number; ms: number };
  /** For an answer without end. */
  maxMs?: number;
}

class Attacker {
  readonly tally: AttackTally = {};
  readonly #job: AttackJob;
  readonly #until: number;

  constructor(job: AttackJob) {
    this.#job = job;
    this.#until = performance.now() + job.seconds * 1000;
  }

  get isOver(): boolean {
    return performance.now() >= this.#until;
  }

  /** So many side by side, one after the other each. */
  repeat(count: number, attempt: (i: number) => Attempt, restMs = 0): Promise<void>[] {
    const { only } = this.#job;
    if (only !== undefined && !only.includes(attempt(0).kind)) return [];
    return Array.from({ length: count }, async (_, i) => {
      for (let turn = i; !this.isOver; turn += count) {
        const status = await this.attempt(attempt(turn));
        const isRefused = status === 'end' || Number(status) >= 400;
        if (isRefused || restMs > 0) await delay(Math.max(restMs, isRefused ? pauseMs : 0));
      }
    });
  }

  async attempt(attempt: Attempt): Promise<string> {
    const status = await this.#send(attempt).catch(() => 'end');
    const ofKind = (this.tally[attempt.kind] ??= {});
    ofKind[status] = (ofKind[status] ?? 0) + 1;
    return status;
  }

  #send({ method = 'GET', path, body, contentType = 'application/json', stalls, unread, maxMs }: Attempt): Promise<string> {
    const { port, authorization, namespace } = this.#job;
    if (unread !== undefined) return this.#leaveUnread(path, unread);
    const headers = { Authorization: authorization, ...(body === undefined ? {} : { 'Content-Type': contentType, 'Content-Length': body.length }) };
    return new Promise((resolve, reject) => {
      const sent = newRequest({ agent, host: '127.0.0.1', port, method, path: `${collectionOf(namespace)}${path}`, headers }, (response) => {
        response.on('error', () => undefined);
        const finish = (): void => resolve(String(response.statusCode));
        if (stalls !== undefined) void stall(response, stalls).then(finish);
        else response.on('close', finish).resume();
      });
      if (maxMs !== undefined) setTimeout(() => sent.destroy(), maxMs).unref();
      // An answer may come before the body is sent, and the end of the connection after it.
      sent.on('error', reject);
      sent.end(body);
    });
  }

  async #leaveUnread(path: string, { count, ms }: { count: number; ms: number }): Promise<string> {
    const { port, authorization, namespace } = this.#job;
    const socket = connect({ port, host: '127.0.0.1' });
    socket.on('error', () => undefined).pause();
    socket.write(`GET ${collectionOf(namespace)}${path} HTTP/1.1\r\nHost: svc\r\nAuthorization: ${authorization}\r\n\r\n`.repeat(count));
    await delay(ms);
    const isCut = socket.destroyed;
    socket.destroy();
    return isCut ? 'end' : 'unread';
  }
}

async function stall(response: IncomingMessage, { bytes, ms }: { bytes: number; ms: number }): Promise<void> {
  let read = 0;
  response.on('data', (chunk: Buffer) => {
    read += chunk.length;
    if (read >= bytes) response.pause();
  });
  await delay(ms);
  response.destroy();
}

function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}

async function attack(job: AttackJob): Promise<AttackTally> {
  const attacker = new Attacker(job);
  const large = json(documentOf('large', { text: 'x'.repeat(largeBytes - 200) }));
  // A character outside of Latin-1 makes the whole text twice as large in memory.
  const wide = json(documentOf('wide', { text: `\u0416${'x'.repeat(largeBytes - 200)}` }));
  const dense = json(documentOf('dense', { parts: Array.from({ length: denseParts }, () => ({})) }));
  const words = json(documentOf('words', { parts: Array.from({ length: 12_000 }, (_, i) => ({ [`name-${i}`]: `${i} `.repeat(30), b: [i, `${i}`] })) }));
  const yaml = Buffer.from(`apiVersion: tenants.svc.example/v1\nkind: Document\nmetadata:\n  name: yaml\nspec:\n  parts:\n${Array.from({ length: 30_000 }, (_, i) => `  - title: ${`${i} `.repeat(10)}\n`).join('')}`);
  const megabyte = 'y'.repeat(1_000_000);
  for (let i = 0; i < listed; i += 1) await attacker.attempt({ kind: 'prepare', method: 'POST', path: '', body: json(documentOf(`listed-${i}`, { text: megabyte })) });
  await attacker.attempt({ kind: 'prepare', method: 'POST', path: '', body: json(documentOf('patched', { text: 'z'.repeat(largeBytes - 200) })) });
  // Together with its metadata just below what counts as memory.
  await attacker.attempt({ kind: 'prepare', method: 'POST', path: '', body: json(documentOf('small', { text: 's'.repeat(64_000) })) });
  const bodies = [large, wide, large, words, dense];
  const label = Buffer.from('{"metadata":{"labels":{"patched":"yes"}}}');
  const spec = (i: number): Buffer => json({ spec: { title: `${i}` } });
  const merge = 'application/merge-patch+json';

  await Promise.all([
    ...attacker.repeat(190, (i) => ({ kind: 'dry-run create', method: 'POST', path: '?dryRun=All', body: bodies[i % bodies.length] })),
    ...attacker.repeat(8, () => ({ kind: 'dry-run create, YAML', method: 'POST', path: '?dryRun=All', body: yaml, contentType: 'application/yaml' })),
    ...attacker.repeat(2, (i) => ({ kind: 'create', method: 'POST', path: '', body: json(documentOf(`created-${i % 40}`, { text: `${i}`.repeat(400_000) })) }), 1000),
    ...attacker.repeat(2, (i) => ({ kind: 'delete', method: 'DELETE', path: `/created-${i % 40}` }), 1000),
    ...attacker.repeat(14, () => ({ kind: 'list, whole', path: '' })),
    ...attacker.repeat(13, () => ({ kind: 'list, page', path: '?page=1&size=1000' })),
    ...attacker.repeat(13, () => ({ kind: 'list, chunk', path: '?limit=1000' })),
    ...attacker.repeat(20, () => ({ kind: 'watch', path: '?watch=true', maxMs: 4000 })),
    ...attacker.repeat(10, () => ({ kind: 'watch, not read', path: '?watch=true', stalls: { bytes: 100_000, ms: 10_000 } })),
    ...attacker.repeat(16, (i) => ({ kind: 'dry-run patch', method: 'PATCH', path: '/patched?dryRun=All', body: spec(i), contentType: merge })),
    ...attacker.repeat(2, (i) => ({ kind: 'patch', method: 'PATCH', path: '/patched', body: i % 2 === 0 ? label : spec(i), contentType: merge }), 500),
    ...attacker.repeat(30, () => ({ kind: 'get', path: '/patched' })),
    ...attacker.repeat(30, () => ({ kind: 'get, not read', path: '/patched', stalls: { bytes: 10_000, ms: 10_000 } })),
    ...attacker.repeat(10, () => ({ kind: 'list, not read', path: '?limit=1000', stalls: { bytes: 10_000, ms: 10_000 } })),
    ...attacker.repeat(10, () => ({ kind: 'list, YAML', path: '?limit=1000', maxMs: 8000 })),
    ...attacker.repeat(200, () => ({ kind: 'small get, not read', path: '/small', unread: { count: 16, ms: 10_000 } })),
  ]);
  return attacker.tally;
}

serveJobs((job: never) => attack(job));
