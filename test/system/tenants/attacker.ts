import { once } from 'node:events';
import { Agent, request as newRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { AttackTally } from './attack-tally.ts';
import { collectionOf, type Tenant } from './tenant-model.ts';

/** Below the limits of a body and of an object. */
export const largeBytes = 2_900_000;
/** Pause after a refusal: as fast as an impatient client, not as a machine that also runs the server. Milliseconds. */
const pauseMs = 200;
/** Limit of an endless or unread response when a kind is tried alone. Milliseconds. */
const briefMs = 2000;
const agent = new Agent({ keepAlive: true, maxSockets: 1000 });

export interface Attempt {
  kind: string;
  method?: string;
  /** Below the tenant's collection of documents, or from `/apis` on. */
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
export interface ClientGroup {
  count: number;
  attempt: (i: number) => Attempt;
  restMs: number;
}

export function clients(count: number, attempt: (i: number) => Attempt, restMs = 0): ClientGroup {
  return { count, attempt, restMs };
}

export class Attacker {
  readonly tally: AttackTally = {};
  readonly #target: Tenant;

  constructor(target: Tenant) {
    this.#target = target;
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
    const { port, authorization, namespace } = this.#target;
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
    const { port, authorization, namespace } = this.#target;
    if (unread !== undefined) return this.#leaveUnread(path, unread);
    const headers = {
      Authorization: authorization,
      ...more,
      ...(body === undefined ? {} : { 'Content-Type': contentType, 'Content-Length': body.length }),
    };
    return new Promise((resolve, reject) => {
      const sent = newRequest(
        { agent, host: '127.0.0.1', port, method, path: pathOf(namespace, path), headers },
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
    const { port, authorization, namespace } = this.#target;
    const socket = connect({ port, host: '127.0.0.1' });
    try {
      socket.write(
        `GET ${pathOf(namespace, path)} HTTP/1.1\r\nHost: svc\r\nAuthorization: ${authorization}\r\n\r\n`.repeat(count),
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

function pathOf(namespace: string, path: string): string {
  return path.startsWith('/apis/') ? path : `${collectionOf(namespace)}${path}`;
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

export function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}
