import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { SeededRandom } from '../../testenv/faults/seeded-random.ts';

/** Probabilities of faults, each for one request, or for one piece of a watch. */
export interface NetworkFaultRates {
  /** 503, 429 or 403, and the request does not arrive. */
  refused: number;
  /** The request is carried out, and its answer is lost. */
  lostAnswer: number;
  /** A watch begins with an ERROR of code 410; in a stream, an error of any code is that of one subscription. */
  expired: number;
  /** A piece of a watch arrives by half, and the connection breaks. */
  halved: number;
  /** A watch sends nothing more, and stays open. */
  frozen: number;
  /** The request does not arrive, and stays open. */
  unanswered: number;
}

export const noFaults: NetworkFaultRates = {
  refused: 0,
  lostAnswer: 0,
  expired: 0,
  halved: 0,
  frozen: 0,
  unanswered: 0,
};

/** Answers the request, or says that it is not its own. */
type ServeRequest = (incoming: IncomingMessage, answer: ServerResponse) => boolean;

/** An HTTP proxy before several replicas: each request goes to any of them, and suffers faults by seed. */
export class NoisyProxy {
  rates: NetworkFaultRates;
  /** Takes requests, and nothing passes any more. */
  isSilent = false;
  readonly #server = createServer((incoming, answer) => this.#handle(incoming, answer));
  readonly #upstreams: readonly string[];
  readonly #answers = new Map<ServerResponse, string>();
  readonly #random: SeededRandom;
  readonly #serve: ServeRequest;

  private constructor(upstreams: readonly string[], seed: number, rates: NetworkFaultRates, serve: ServeRequest) {
    this.#upstreams = upstreams;
    this.#random = new SeededRandom(seed);
    this.rates = rates;
    this.#serve = serve;
  }

  /** `upstreams` may change. `serve` takes the requests that are not for them, which suffer no faults. */
  static async start(
    upstreams: readonly string[],
    seed: number,
    rates: NetworkFaultRates,
    serve: ServeRequest = () => false,
  ): Promise<NoisyProxy> {
    const proxy = new NoisyProxy(upstreams, seed, rates, serve);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Breaks every connection, as a restart of all servers does. */
  cutAll(): void {
    this.#server.closeAllConnections();
  }

  /** Breaks those to one server. */
  cut(upstream: string): void {
    for (const [answer, to] of this.#answers) if (to === upstream) answer.destroy();
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.cutAll();
    await once(this.#server, 'close');
  }

  #handle(incoming: IncomingMessage, answer: ServerResponse): void {
    if (this.#serve(incoming, answer)) return;
    const isStream = incoming.url === streamPath;
    const isWatch = isStream || incoming.url?.includes('watch=true') === true;
    const { refused, lostAnswer, expired, unanswered } = this.rates;
    if (this.isSilent || (unanswered > 0 && this.#random.chance(unanswered))) {
      incoming.resume();
      return;
    }
    if (this.#random.chance(refused)) {
      refuse(incoming, answer, this.#random.pick([503, 503, 429, 403]));
      return;
    }
    const isExpired = isWatch && this.#random.chance(expired);
    if (isExpired && !isStream) {
      answer.end(errorLine({}, 410));
      return;
    }
    const isLost = !isWatch && this.#random.chance(lostAnswer);
    const to = this.#random.pick(this.#upstreams);
    this.#answers.set(answer, to);
    const upstream = request(
      `${to}${incoming.url}`,
      { method: incoming.method, headers: incoming.headers, agent: false },
      (response) => {
        if (isLost) {
          response.resume();
          response.on('end', () => answer.destroy());
          return;
        }
        if (this.isSilent) {
          response.resume();
          return;
        }
        answer.writeHead(response.statusCode!, response.headers);
        answer.flushHeaders();
        if (isExpired) void sent.then((body) => answer.write(this.#errorOfOne(body)));
        response.on('data', (chunk: Buffer) => this.#pass(chunk, answer, isWatch));
        response.on('end', () => {
          if (!this.isSilent) answer.end();
        });
      },
    );
    const sent = isExpired ? text(incoming.pipe(new PassThrough())) : Promise.resolve('');
    upstream.on('error', () => answer.destroy());
    answer.on('close', () => {
      this.#answers.delete(answer);
      upstream.destroy();
    });
    incoming.pipe(upstream);
  }

  #errorOfOne(body: string): string {
    const { subscriptions } = JSON.parse(body) as { subscriptions: { id: string }[] };
    return errorLine({ id: this.#random.pick(subscriptions).id }, this.#random.pick([403, 410, 429]));
  }

  #pass(chunk: Buffer, answer: ServerResponse, isWatch: boolean): void {
    if (this.isSilent) frozen.add(answer);
    if (frozen.has(answer)) return;
    if (!isWatch) {
      answer.write(chunk);
    } else if (this.#random.chance(this.rates.frozen)) {
      frozen.add(answer);
    } else if (this.#random.chance(this.rates.halved)) {
      frozen.add(answer);
      answer.write(chunk.subarray(0, chunk.length / 2), () => answer.destroy());
    } else {
      answer.write(chunk);
    }
  }
}

const streamPath = '/apis/stream.svc.run/v1alpha1/streams';
const reasons: Record<number, string> = {
  403: 'Forbidden',
  410: 'Expired',
  429: 'TooManyRequests',
  503: 'ServiceUnavailable',
};

function errorLine(head: object, code: number): string {
  const object = { kind: 'Status', code, reason: reasons[code], message: 'the test says so' };
  return `${JSON.stringify({ ...head, type: 'ERROR', object })}\n`;
}

const frozen = new WeakSet<ServerResponse>();

function refuse(incoming: IncomingMessage, answer: ServerResponse, code: number): void {
  incoming.resume();
  answer.writeHead(code, { 'Content-Type': 'application/json', ...(code === 403 ? {} : { 'Retry-After': '0' }) });
  answer.end(JSON.stringify({ kind: 'Status', code, reason: reasons[code], message: 'the test refuses' }));
}
