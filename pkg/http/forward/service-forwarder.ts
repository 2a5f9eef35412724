import { Agent as HttpAgent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { abortError, isStatusError, newServiceUnavailable, StatusError, whenAborted } from '#pkg/apimachinery/index';
import { isAnswered } from '../answer/respond.ts';
import { writeChunk } from '../answer/send-stream.ts';
import { forwardedRequestOf } from '../connection/forwarded-request.ts';
import { hasBody, sendContinue } from '../request/read-body.ts';
import type { Handler, RequestContext, Sender } from '../request/request-context.ts';
import { endToEndHeaders } from './end-to-end-headers.ts';
import { forwardedHeader, type ForwardingProof } from './forwarding-proof.ts';
import { limitConnecting } from './limit-connecting.ts';

export interface ServiceForwarderOptions {
  /** The origin of the service. */
  url: string;
  /** Authority of its certificate, asked for at each request. Default: those that Node knows. */
  ca?: (() => string) | undefined;
  /** In milliseconds, default 3000; the request's signal limits the answer. */
  connectMs?: number;
}

/** Shorter than the keep-alive timeout of servers. */
const idleMs = 30_000;
const maxConnections = 256;
/** How long the service may pause within an answer. Longer than a client may pause, which pauses the service, too. */
const stallMs = 120_000;
const safeMethods: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Forwards requests to another service of ours, and its answers to the client: method, path, query and headers as they
 * were sent, bodies as they arrive. It follows no redirect and holds no body. Errors are StatusErrors: 503 if there is
 * no connection, 502 if it broke.
 */
export class ServiceForwarder {
  readonly #url: URL;
  readonly #ca: (() => string) | undefined;
  readonly #connectMs: number;
  readonly #agent: HttpAgent;

  constructor({ url, ca, connectMs = 3000 }: ServiceForwarderOptions) {
    this.#url = new URL(url);
    this.#ca = ca;
    this.#connectMs = connectMs;
    const settings = { keepAlive: true, maxSockets: maxConnections, timeout: idleMs };
    this.#agent = this.#url.protocol === 'https:' ? new HttpsAgent(settings) : new HttpAgent(settings);
  }

  /** `proof` tells the service how the client has reached this server (`noteForwarded`). */
  handler(proof: ForwardingProof): Handler {
    return async (context) => {
      const { request, signal } = context;
      this.#refuseLoop(context, proof);
      const mayRepeat = safeMethods.has(request.method) && !hasBody(request.headers);
      let exchange = this.#begin(context, proof);
      try {
        const answer = await exchange.answer(context).catch((error: unknown) => {
          // The service closed an idle connection at this moment.
          if (!mayRepeat || !exchange.isStale || signal.aborted) throw error;
          exchange = this.#begin(context, proof);
          return exchange.answer(context);
        });
        await passAnswer(context, answer);
      } catch (error) {
        if (signal.aborted) throw abortError(signal);
        throw isStatusError(error) ? error : exchange.failure(error);
      } finally {
        exchange.end();
      }
    };
  }

  /** Closes all connections. */
  close(): void {
    this.#agent.destroy();
  }

  /** Two servers that forward to each other would do so for ever. */
  #refuseLoop({ request }: RequestContext, proof: ForwardingProof): void {
    const text = request.headers[forwardedHeader];
    if (typeof text === 'string' && proof.check(text, provenOf(request)) !== undefined)
      throw newServiceUnavailable('the server that requests are forwarded to forwards them, too');
  }

  #begin(context: RequestContext, proof: ForwardingProof): Exchange {
    const { request, id } = context;
    const { rawHeaders, headers } = request;
    const sent = endToEndHeaders(rawHeaders, ['expect', forwardedHeader]);
    if (headers.host === undefined) sent.push('Host', this.#url.host);
    if (headers['transfer-encoding'] !== undefined) sent.push('Transfer-Encoding', 'chunked');
    else if (headers['content-length'] === undefined && !safeMethods.has(request.method))
      sent.push('Content-Length', '0');
    if (headers['x-request-id'] === undefined) sent.push('X-Request-Id', id);
    sent.push('X-SVC-Forwarded', proof.prove(provenOf(request), forwardedRequestOf(request)!));
    const send = this.#url.protocol === 'https:' ? httpsRequest : httpRequest;
    const outgoing = send({
      protocol: this.#url.protocol,
      hostname: this.#url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: this.#url.port,
      method: request.method!,
      path: request.url!,
      headers: sent,
      agent: this.#agent,
      ...(this.#ca === undefined ? {} : { ca: this.#ca() }),
    });
    limitConnecting(outgoing, this.#connectMs);
    return new Exchange(outgoing, context.signal);
  }
}

/** One request to the service. */
class Exchange {
  readonly #outgoing: ClientRequest;
  readonly #forget: () => void;
  #isConnected = false;
  #error: NodeJS.ErrnoException | undefined;
  #answer: IncomingMessage | undefined;

  constructor(outgoing: ClientRequest, signal: AbortSignal) {
    this.#outgoing = outgoing;
    outgoing.once('socket', (socket) => {
      const connected = 'encrypted' in socket ? 'secureConnect' : 'connect';
      if (socket.connecting) socket.once(connected, () => (this.#isConnected = true));
      else this.#isConnected = true;
    });
    outgoing.once('response', (answer) => (this.#answer = answer));
    outgoing.on('error', (error) => (this.#error ??= error));
    outgoing.setTimeout(stallMs, () => outgoing.destroy(new Error(`no byte within ${stallMs} ms`)));
    this.#forget = whenAborted(signal, () => outgoing.destroy(new Error('the request was aborted')));
  }

  /** Whether a kept connection was closed before anything of an answer came. */
  get isStale(): boolean {
    return this.#outgoing.reusedSocket && (this.#error?.code === 'ECONNRESET' || this.#error?.code === 'EPIPE');
  }

  /** Sends the body; resolves with the head of the answer, which may come before the whole body was sent. */
  async answer(context: RequestContext): Promise<IncomingMessage> {
    const outgoing = this.#outgoing;
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once('response', resolve).once('error', reject);
    });
    const [answer] = await Promise.all([answered, passBody(context, outgoing)]);
    return answer;
  }

  failure(cause: unknown): StatusError {
    if (!this.#isConnected) {
      const unavailable = newServiceUnavailable('access management cannot be reached at the moment');
      unavailable.cause = cause;
      return unavailable;
    }
    return new StatusError(502, 'InternalError', 'the connection to access management broke', { cause });
  }

  /** A connection whose request or answer is incomplete cannot be used again. */
  end(): void {
    this.#forget();
    if (!this.#outgoing.writableFinished || this.#answer?.complete !== true) this.#outgoing.destroy();
  }
}

function provenOf({ method = '', url = '' }: IncomingMessage): { method: string; target: string } {
  return { method, target: url };
}

async function passBody(context: RequestContext, outgoing: ClientRequest): Promise<void> {
  const { request, heldSlots } = context;
  // A small body mostly arrives with its head.
  if (!hasBody(request.headers) || request.complete) {
    outgoing.end((request.read() as Buffer | null) ?? undefined);
    return;
  }
  const arrive = (sender?: Sender): Promise<void> => {
    sendContinue(context);
    return pipeBody(context, outgoing, sender);
  };
  await (heldSlots === undefined ? arrive() : heldSlots.whileBodyArrives(arrive));
}

/** Resolves when the body was sent, and also when the service takes no more of it. */
function pipeBody({ request, signal }: RequestContext, outgoing: ClientRequest, sender?: Sender): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: unknown): void => {
      request.off('data', onData).off('end', onEnd).pause();
      outgoing.off('drain', onDrain).off('response', onDone).off('close', onDone);
      forget();
      if (error === undefined) resolve();
      else reject(error);
    };
    const onData = (chunk: Buffer): void => {
      sender?.received(chunk.length);
      if (!outgoing.write(chunk)) request.pause();
    };
    const onDrain = (): void => void request.resume();
    const onEnd = (): void => {
      outgoing.end();
      settle();
    };
    const onDone = (): void => settle();
    // A client that is gone aborts the signal.
    const forget = whenAborted(signal, () => settle(signal.reason));
    if (signal.aborted) return;
    outgoing.on('drain', onDrain).on('response', onDone).on('close', onDone);
    if (sender !== undefined) sender.onCut = settle;
    request.on('data', onData).on('end', onEnd);
  });
}

async function passAnswer(context: RequestContext, answer: IncomingMessage): Promise<void> {
  const { response } = context;
  if (isAnswered(response)) return;
  for (const [name, values] of valuesByName(endToEndHeaders(answer.rawHeaders))) response.setHeader(name, values);
  response.statusCode = answer.statusCode!;
  for await (const chunk of answer) await writeChunk(context, chunk as Buffer);
  if (!answer.complete) throw new Error('the answer ended early');
  response.end();
}

/** A list for a header that was sent several times, as Set-Cookie may be. */
function valuesByName(headers: readonly string[]): Map<string, string | string[]> {
  const values = new Map<string, string | string[]>();
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!.toLowerCase();
    const before = values.get(name);
    values.set(name, before === undefined ? headers[i + 1]! : [before, headers[i + 1]!].flat());
  }
  return values;
}
