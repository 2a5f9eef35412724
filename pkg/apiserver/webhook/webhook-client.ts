import { lookup } from 'node:dns';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { abortError, whenAborted } from '#pkg/apimachinery/index';
import type { WebhookPolicy } from './webhook-policy.ts';

/**
 * A call that failed. `refused`: the policy does not allow it. `unreachable`: there was no connection or no answer in
 * time. `wrong`: there was an answer, but not one that can be used. The message contains nothing of the answer's body.
 */
export class WebhookError extends Error {
  readonly kind: 'refused' | 'unreachable' | 'wrong';

  constructor(kind: WebhookError['kind'], message: string) {
    super(message);
    this.name = 'WebhookError';
    this.kind = kind;
  }
}

export interface WebhookClientOptions {
  /** https. */
  url: string;
  /** The authorities of its certificate, PEM. Default: those that Node.js trusts. */
  authorities?: string;
  policy: WebhookPolicy;
  /** Default 8. */
  maxConnections?: number;
}

export interface WebhookCall {
  /** JSON. */
  body: string;
  /** Longest answer that is read, in bytes. */
  maxBytes: number;
  signal?: AbortSignal | undefined;
}

/** Milliseconds that an idle connection is kept. */
const idleMs = 30_000;

/**
 * Calls one webhook: https with a verified certificate, no redirect, no proxy, at addresses that the policy allows. The
 * addresses are checked in the lookup whose result the connection uses, so that a name cannot change in between.
 */
export class WebhookClient {
  readonly #url: URL;
  readonly #policy: WebhookPolicy;
  readonly #agent: Agent;

  constructor({ url, authorities, policy, maxConnections = 8 }: WebhookClientOptions) {
    this.#url = new URL(url);
    this.#policy = policy;
    this.#agent = new Agent({
      keepAlive: true,
      maxSockets: maxConnections,
      maxFreeSockets: 2,
      timeout: idleMs,
      rejectUnauthorized: true,
      minVersion: 'TLSv1.2',
      lookup: this.#lookup,
      ...(authorities === undefined ? {} : { ca: authorities }),
    });
  }

  /** The answer's body. @throws WebhookError, or abortError once the signal aborts */
  async post(call: WebhookCall): Promise<Buffer> {
    this.#checkHost();
    const end = performance.now() + this.#policy.timeoutMs;
    try {
      return await this.#send(call, end);
    } catch (error) {
      // The webhook may close an idle connection at the moment in which it is used again.
      if (!(error instanceof StaleConnection)) throw error;
    }
    return this.#send(call, end);
  }

  /** Ends all connections. Calls that are under way fail. */
  close(): void {
    this.#agent.destroy();
  }

  #checkHost(): void {
    if (!this.#policy.allowsHost(this.#url))
      throw new WebhookError('refused', `svc.webhooks.allowed-hosts does not allow ${this.#url.host.slice(0, 260)}`);
    // An address in the URL is not looked up.
    const host = this.#url.hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0 && !this.#policy.allowsAddress(host)) throw addressRefused();
  }

  #send({ body, maxBytes, signal }: WebhookCall, end: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const outgoing = request(this.#url, {
        method: 'POST',
        agent: this.#agent,
        headers: {
          'Content-Type': 'application/json',
          'Content-Length': Buffer.byteLength(body),
          Accept: 'application/json',
          'Accept-Encoding': 'identity',
          'User-Agent': 'svc',
        },
      });
      let hasAnswer = false;
      const fail = (error: Error): void => {
        reject(error);
        outgoing.destroy();
      };
      const timer = setTimeout(
        () => fail(new WebhookError('unreachable', `no answer within ${this.#policy.timeoutMs} ms`)),
        Math.max(1, end - performance.now()),
      );
      const forget = whenAborted(signal, () => fail(abortError(signal!)));
      outgoing.once('close', () => {
        clearTimeout(timer);
        forget();
        if (!hasAnswer) reject(newIncomplete());
      });
      outgoing.on('error', (error) => {
        reject(outgoing.reusedSocket && !hasAnswer && isReset(error) ? new StaleConnection() : translate(error));
      });
      outgoing.once('response', (answer) => {
        hasAnswer = true;
        readAnswer(answer, maxBytes).then(resolve, (error: Error) => fail(translate(error)));
      });
      outgoing.end(body);
    });
  }

  readonly #lookup: LookupFunction = (host, options, callback) => {
    lookup(host, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, []);
      const allowed = addresses.filter(({ address }) => this.#policy.allowsAddress(address));
      if (allowed.length === 0) return callback(addressRefused(), []);
      if (options.all === true) callback(null, allowed);
      else callback(null, allowed[0]!.address, allowed[0]!.family);
    });
  };
}

class StaleConnection extends Error {}

async function readAnswer(answer: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const { statusCode = 0, headers } = answer;
  if (statusCode !== 200) throw new WebhookError('wrong', `the answer has the status ${statusCode}, not 200`);
  if ((headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new WebhookError('wrong', 'the answer is compressed, which was not asked for');
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new WebhookError('wrong', `the answer is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function addressRefused(): WebhookError {
  return new WebhookError('refused', 'its address is not public, and svc.webhooks.allowed-networks does not allow it');
}

function isReset(error: Error): boolean {
  return ['ECONNRESET', 'EPIPE'].includes(codeOf(error));
}

function newIncomplete(): WebhookError {
  return new WebhookError('unreachable', 'the connection was closed before the answer was complete');
}

/** The system's messages name addresses, which are nobody's business: only the code is told. */
function translate(error: Error): WebhookError {
  if (error instanceof WebhookError) return error;
  if (isReset(error)) return newIncomplete();
  const code = codeOf(error);
  return new WebhookError('unreachable', `the connection failed${code === '' ? '' : `: ${code}`}`);
}

function codeOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : '';
}
