/** The attack, in a separate process, so that sending does not slow down the measurement. */
import { once } from 'node:events';
import { Agent, request as newRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { serveJobs } from '../harness/process/worker-process.ts';
import type { AttackTally } from './attack-tally.ts';
import { collectionOf, documentOf } from './tenant-model.ts';

/**
 * The first job of a process prepares, whatever its `seconds`: it creates the targets, and tries each kind of request
 * alone, because few of many concurrent clients succeed.
 */
export interface AttackJob {
  port: number;
  /** The header's value. */
  authorization: string;
  namespace: string;
  seconds: number;
  /** Only these kinds; default all. */
  only?: readonly string[];
}

/** Below the limits of a body and of an object. */
const largeBytes = 2_900_000;
/** An object with the maximum of 100 000 values and keys: small on the wire, large once parsed. */
const denseParts = 49_000;
/** Objects of a megabyte for lists and watches. */
const listed = 40;
/** Pause after a refusal: as fast as an impatient client, not as a machine that also runs the server. Milliseconds. */
const pauseMs = 200;
/** Limit of an endless or unread response when a kind is tried alone. Milliseconds. */
const briefMs = 2000;
const agent = new Agent({ keepAlive: true, maxSockets: 1000 });

interface Attempt {
  kind: string;
  method?: string;
  path: string;
  body?: Buffer | undefined;
  contentType?: string;
  headers?: Record<string, string>;
  /** Reads this many bytes, then pauses, then disconnects. */
  stalls?: { bytes: number; ms: number };
  /**
   * Sends `count` requests at once on a separate connection, reads the start of the first response, pauses, then
   * disconnects.
   */
  unread?: { count: number; ms: number };
  /** Limit of an endless response. */
  maxMs?: number;
}

/** Clients in parallel, each with requests in sequence. */
interface ClientGroup {
  count: number;
  attempt: (i: number) => Attempt;
  restMs: number;
}

function clients(count: number, attempt: (i: number) => Attempt, restMs = 0): ClientGroup {
  return { count, attempt, restMs };
}

class Attacker {
  readonly tally: AttackTally = {};
  readonly #job: AttackJob;

  constructor(job: AttackJob) {
    this.#job = job;
  }

  /** Tries each kind alone, briefly. */
  async try(groups: readonly ClientGroup[]): Promise<void> {
    for (const { attempt } of groups) {
      const { stalls, unread, maxMs, ...first } = attempt(0);
      await this.attempt({
        ...first,
        ...(stalls === undefined ? {} : { stalls: { ...stalls, ms: briefMs } }),
        ...(unread === undefined ? {} : { unread: { ...unread, ms: briefMs } }),
        ...(maxMs === undefined ? {} : { maxMs: briefMs }),
      });
    }
  }

  async attack(groups: readonly ClientGroup[], seconds: number): Promise<void> {
    const until = performance.now() + seconds * 1000;
    const repeat = async ({ count, attempt, restMs }: ClientGroup, i: number): Promise<void> => {
      for (let turn = i; performance.now() < until; turn += count) {
        const status = await this.attempt(attempt(turn));
        const isRefused = status === 'end' || Number(status) >= 400;
        if (isRefused || restMs > 0) await delay(Math.max(restMs, isRefused ? pauseMs : 0));
      }
    };
    await Promise.all(groups.flatMap((each) => Array.from({ length: each.count }, (_, i) => repeat(each, i))));
  }

  async attempt(attempt: Attempt): Promise<string> {
    const status = await this.#send(attempt).catch(() => 'end');
    const ofKind = (this.tally[attempt.kind] ??= {});
    ofKind[status] = (ofKind[status] ?? 0) + 1;
    return status;
  }

  /** The metadata of the collection. */
  async metadataOf(path: string): Promise<{ resourceVersion: string; continue?: string }> {
    const { port, authorization, namespace } = this.#job;
    const answer = await fetch(`http://127.0.0.1:${port}${collectionOf(namespace)}${path}`, {
      headers: { Authorization: authorization },
    });
    return ((await answer.json()) as { metadata: { resourceVersion: string; continue?: string } }).metadata;
  }

  #send({
    method = 'GET',
    path,
    body,
    contentType = 'application/json',
    headers: more,
    stalls,
    unread,
    maxMs,
  }: Attempt): Promise<string> {
    const { port, authorization, namespace } = this.#job;
    if (unread !== undefined) return this.#leaveUnread(path, unread);
    const headers = {
      Authorization: authorization,
      ...more,
      ...(body === undefined ? {} : { 'Content-Type': contentType, 'Content-Length': body.length }),
    };
    return new Promise((resolve, reject) => {
      const sent = newRequest(
        { agent, host: '127.0.0.1', port, method, path: `${collectionOf(namespace)}${path}`, headers },
        (response) => {
          response.on('error', () => undefined);
          const finish = (): void => resolve(String(response.statusCode));
          if (stalls !== undefined) void stall(response, stalls).then(finish);
          else response.on('close', finish).resume();
        },
      );
      if (maxMs !== undefined) setTimeout(() => sent.destroy(), maxMs).unref();
      // A response may arrive before the body is sent, and the end of the connection after it.
      sent.on('error', reject);
      sent.end(body);
    });
  }

  async #leaveUnread(path: string, { count, ms }: { count: number; ms: number }): Promise<string> {
    const { port, authorization, namespace } = this.#job;
    const socket = connect({ port, host: '127.0.0.1' });
    try {
      socket.write(
        `GET ${collectionOf(namespace)}${path} HTTP/1.1\r\nHost: svc\r\nAuthorization: ${authorization}\r\n\r\n`.repeat(
          count,
        ),
      );
      const [first] = (await once(socket, 'data', { signal: AbortSignal.timeout(ms) })) as [Buffer];
      socket.pause();
      await delay(ms);
      return first.toString('latin1', 'HTTP/1.1 '.length, 'HTTP/1.1 200'.length);
    } finally {
      socket.on('error', () => undefined).destroy();
    }
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

/** Creates the targets and returns the clients. */
async function prepare(attacker: Attacker): Promise<ClientGroup[]> {
  const large = json(documentOf('large', { text: 'x'.repeat(largeBytes - 200) }));
  // One character outside of Latin-1 doubles the size of the text in memory.
  const wide = json(documentOf('wide', { text: `\u0416${'x'.repeat(largeBytes - 200)}` }));
  const dense = json(documentOf('dense', { parts: Array.from({ length: denseParts }, () => ({})) }));
  const words = json(
    documentOf('words', {
      parts: Array.from({ length: 12_000 }, (_, i) => ({ [`name-${i}`]: `${i} `.repeat(30), b: [i, `${i}`] })),
    }),
  );
  // The maximum of YAML: 1 MiB, and 60 000 tokens.
  const yaml = Buffer.from(
    `apiVersion: tenants.svc.example/v1\nkind: Document\nmetadata:\n  name: yaml\nspec:\n  parts:\n${Array.from({ length: 5000 }, (_, i) => `  - title: ${`${i} `.repeat(40)}\n`).join('')}`,
  );
  const megabyte = 'y'.repeat(1_000_000);
  for (let i = 0; i < listed; i += 1)
    await attacker.attempt({
      kind: 'prepare',
      method: 'POST',
      path: '',
      body: json(documentOf(`listed-${i}`, { text: megabyte })),
    });
  await attacker.attempt({
    kind: 'prepare',
    method: 'POST',
    path: '',
    body: json(documentOf('patched', { text: 'z'.repeat(largeBytes - 200) })),
  });
  // With its metadata just below the memory limit.
  await attacker.attempt({
    kind: 'prepare',
    method: 'POST',
    path: '',
    body: json(documentOf('small', { text: 's'.repeat(64_000) })),
  });
  const before = await attacker.metadataOf('?limit=1');
  const bodies = [large, wide, large, words, dense];
  const label = Buffer.from('{"metadata":{"labels":{"patched":"yes"}}}');
  const spec = (i: number): Buffer => json({ spec: { title: `${i}` } });
  const merge = 'application/merge-patch+json';
  for (const name of ['patched', ...Array.from({ length: 8 }, (_, i) => `listed-${i}`)])
    await attacker.attempt({
      kind: 'prepare changes',
      method: 'PATCH',
      path: `/${name}`,
      body: label,
      contentType: merge,
    });
  const old = `?watch=true&resourceVersion=${before.resourceVersion}`;
  const rest = `?limit=1000&continue=${before.continue}`;
  const unread = { bytes: 10_000, ms: 10_000 };

  return [
    clients(190, (i) => ({
      kind: 'dry-run create',
      method: 'POST',
      path: '?dryRun=All',
      body: bodies[i % bodies.length],
    })),
    clients(8, () => ({
      kind: 'dry-run create, YAML',
      method: 'POST',
      path: '?dryRun=All',
      body: yaml,
      contentType: 'application/yaml',
    })),
    clients(
      2,
      (i) => ({
        kind: 'create',
        method: 'POST',
        path: '',
        body: json(documentOf(`created-${i % 40}`, { text: `${i}`.repeat(400_000) })),
      }),
      1000,
    ),
    clients(2, (i) => ({ kind: 'delete', method: 'DELETE', path: `/created-${i % 40}` }), 1000),
    clients(14, () => ({ kind: 'list, whole', path: '' })),
    clients(13, () => ({ kind: 'list, page', path: '?page=1&size=1000' })),
    clients(13, () => ({ kind: 'list, chunk', path: '?limit=1000' })),
    clients(20, () => ({ kind: 'watch', path: '?watch=true', maxMs: 4000 })),
    clients(60, () => ({ kind: 'watch, not read', path: '?watch=true', stalls: { bytes: 100_000, ms: 10_000 } })),
    clients(20, () => ({ kind: 'watch, old revision', path: old, maxMs: 8000 })),
    clients(60, () => ({ kind: 'watch, old revision, not read', path: old, stalls: unread })),
    clients(16, (i) => ({
      kind: 'dry-run patch',
      method: 'PATCH',
      path: '/patched?dryRun=All',
      body: spec(i),
      contentType: merge,
    })),
    clients(
      2,
      (i) => ({
        kind: 'patch',
        method: 'PATCH',
        path: '/patched',
        body: i % 2 === 0 ? label : spec(i),
        contentType: merge,
      }),
      500,
    ),
    clients(30, () => ({ kind: 'get', path: '/patched' })),
    clients(30, () => ({ kind: 'get, not read', path: '/patched', stalls: unread })),
    clients(10, () => ({ kind: 'list, not read', path: '?limit=1000', stalls: unread })),
    clients(10, () => ({
      kind: 'list, YAML',
      path: '?limit=1000',
      headers: { Accept: 'application/yaml' },
      maxMs: 8000,
    })),
    clients(10, () => ({ kind: 'list, continued chunk', path: rest })),
    clients(30, () => ({ kind: 'list, continued chunk, not read', path: rest, stalls: unread })),
    clients(200, () => ({ kind: 'small get, not read', path: '/small', unread: { count: 16, ms: 10_000 } })),
  ];
}

let prepared: { attacker: Attacker; groups: readonly ClientGroup[] } | undefined;

async function run(job: AttackJob): Promise<AttackTally> {
  if (prepared !== undefined) {
    await prepared.attacker.attack(prepared.groups, job.seconds);
    return prepared.attacker.tally;
  }
  const attacker = new Attacker(job);
  const groups = (await prepare(attacker)).filter(({ attempt }) => job.only?.includes(attempt(0).kind) ?? true);
  await attacker.try(groups);
  prepared = { attacker, groups };
  return attacker.tally;
}

serveJobs((job: never) => run(job));
