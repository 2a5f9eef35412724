import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { abortError, isJsonObject, newInternalError, statusErrorFrom, whenAborted } from '#pkg/apimachinery/index';
import { limitConnecting } from '#pkg/http/index';
import type { Log } from '#pkg/runtime/index';
import { parseFrame } from './call-frame.ts';
import type { EndpointCall, EndpointResult } from './endpoint-call.ts';
import type { Forwarder } from './forwarder.ts';
import { formatForwarded, hostPrefix, isTextMap, resultType } from './host-endpoints.ts';
import { newEndpointUnavailable } from './public-failure.ts';
import { maxResultBytes } from './send-result.ts';
import { signatureHeader } from './signature/call-claims.ts';
import type { CallSigner } from './signature/server-identity.ts';

export interface HttpForwarderOptions {
  signer: CallSigner;
  log: Log;
  /** Connect timeout. Milliseconds, default 3000; the caller's signal limits the response. */
  connectMs?: number;
}

/** Shorter than the keep-alive timeout of servers. */
const idleMs = 30_000;
const maxConnections = 256;
/** Limit of headers, and of the JSON line before a text. */
const maxHeadBytes = 256 * 1024;

/**
 * Forwards signed calls over HTTP on keep-alive connections. It follows no redirect. Any response that does not come
 * from a host, and any failure, becomes a 503 without details.
 */
export class HttpForwarder implements Forwarder {
  readonly #signer: CallSigner;
  readonly #log: Log;
  readonly #connectMs: number;
  readonly #agents = {
    'http:': new HttpAgent({ keepAlive: true, maxSockets: maxConnections, timeout: idleMs }),
    'https:': new HttpsAgent({ keepAlive: true, maxSockets: maxConnections, timeout: idleMs }),
  };

  constructor({ signer, log, connectMs = 3000 }: HttpForwarderOptions) {
    this.#signer = signer;
    this.#log = log;
    this.#connectMs = connectMs;
  }

  async forward(url: string, call: EndpointCall, signal: AbortSignal): Promise<EndpointResult> {
    const base = parseBase(url);
    if (base === undefined) throw this.#unreachable(call, { url: url.slice(0, 256) }, 'the URL of the host is none');
    const path = `${hostPrefix}/${call.plugin}/${call.operationId}`;
    const body = formatForwarded(call);
    const outgoing: Outgoing = {
      base,
      path,
      body,
      requestId: call.requestId,
      signature: this.#signer.sign({ host: url, target: `POST ${path}`, user: call.user.name, body }),
    };
    let answer: Answer;
    try {
      answer = await this.#exchange(outgoing, signal).catch((error: unknown) => {
        // The host closed a keep-alive connection. If the host has already seen the request, it refuses the same
        // signature.
        if (error instanceof ExchangeError && error.isStale) return this.#exchange(outgoing, signal);
        throw error;
      });
    } catch (error) {
      if (signal.aborted) throw abortError(signal);
      if (error instanceof AnswerTooLargeError) throw newInternalError(error);
      throw this.#unreachable(call, { url: base.origin, err: error }, 'the host cannot be asked');
    }
    return this.#read(answer, call, base);
  }

  /** Closes all connections. */
  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }

  #exchange({ base, path, body, requestId, signature }: Outgoing, signal: AbortSignal): Promise<Answer> {
    const [send, agent] =
      base.protocol === 'https:' ? [httpsRequest, this.#agents['https:']] : [httpRequest, this.#agents['http:']];
    return new Promise((resolve, reject) => {
      const headers = {
        'content-type': 'application/octet-stream',
        'content-length': body.length,
        'x-request-id': requestId,
        [signatureHeader]: signature,
      };
      const request = send(new URL(`${base.pathname.replace(/\/+$/, '')}${path}`, base), {
        method: 'POST',
        headers,
        agent,
      });
      const forget = whenAborted(signal, () => request.destroy(new Error('the request was aborted')));
      const fail = (error: Error): void => {
        forget();
        request.destroy();
        reject(error);
      };
      limitConnecting(request, this.#connectMs);
      request.on('error', (error: NodeJS.ErrnoException) =>
        fail(new ExchangeError(error, request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE'))),
      );
      request.on('response', (response) => {
        readAnswer(response).finally(forget).then(resolve, fail);
      });
      request.end(body);
    });
  }

  #read({ status, type, bytes }: Answer, call: EndpointCall, base: URL): EndpointResult {
    const facts = { url: base.origin, status };
    // One of the two clocks is wrong, or the lease does not exist yet.
    if (status === 401)
      throw this.#unreachable(call, facts, 'the host refused the signature of this server; see the log of the host');
    const frame = status === 200 && type === resultType ? parseFrame(bytes) : undefined;
    if (frame === undefined) throw this.#unreachable(call, facts, 'the response is not from a plugin host');
    const { failure, status: own, headers, hasBody, hasFile } = frame.head;
    if (isJsonObject(failure)) throw statusErrorFrom(failure);
    if (typeof own !== 'number' || !isTextMap(headers))
      throw newInternalError(new Error('the host sent a response without status or headers'));
    if (hasFile === true) return { status: own, headers, file: frame.rest };
    return { status: own, headers, ...(hasBody === true ? { body: frame.rest.toString() } : {}) };
  }

  #unreachable({ plugin, operationId, requestId }: EndpointCall, facts: object, message: string): Error {
    this.#log.warn({ plugin, operation: operationId, requestId, ...facts }, `could not call an endpoint: ${message}`);
    return newEndpointUnavailable();
  }
}

interface Outgoing {
  base: URL;
  path: string;
  body: Buffer;
  requestId: string;
  signature: string;
}

interface Answer {
  status: number;
  type: string;
  bytes: Buffer;
}

class AnswerTooLargeError extends Error {}

class ExchangeError extends Error {
  /** The peer closed a keep-alive connection before it sent any part of the response. */
  readonly isStale: boolean;

  constructor(cause: Error, isStale: boolean) {
    super(cause.message, { cause });
    this.isStale = isStale;
  }
}

function parseBase(url: string): URL | undefined {
  const base = URL.canParse(url) ? new URL(url) : undefined;
  const isPlain =
    base !== undefined &&
    (base.protocol === 'http:' || base.protocol === 'https:') &&
    base.username === '' &&
    base.password === '' &&
    base.search === '' &&
    base.hash === '';
  return isPlain ? base : undefined;
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxResultBytes + maxHeadBytes) throw new AnswerTooLargeError('the answer of an endpoint is too large');
    chunks.push(chunk);
  }
  return {
    status: response.statusCode ?? 0,
    type: response.headers['content-type'] ?? '',
    bytes: Buffer.concat(chunks, size),
  };
}
