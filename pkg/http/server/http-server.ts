import { setMaxListeners } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { Server as NetServer, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import {
  endsWithin,
  newBadRequest,
  newServiceUnavailable,
  newTooManyRequests,
  StatusError,
} from '#pkg/apimachinery/index';
import { TrustedProxies } from '../connection/client-address.ts';
import {
  ConnectionLimits,
  reservedConnections,
  type ConnectionLimitsOptions,
} from '../connection/connection-limits.ts';
import type { RequestLimits } from '../request/check-request.ts';
import { hasBody } from '../request/read-body.ts';
import type { Handler } from '../request/request-context.ts';
import type { ServerCertificate } from '../tls/server-certificate.ts';
import { Pipeline } from './pipeline.ts';
import { answerParseError, answerRaw, isParseError } from './raw-answer.ts';
import { ServerRequestContext, type ContextMemory } from './server-request-context.ts';
import { takeInUnreadBody } from './unread-body.ts';

export interface HttpServerLimits extends RequestLimits, ConnectionLimitsOptions {
  /** For the headers of a request to arrive; default 30 s. */
  headersTimeoutMs: number;
  /**
   * For an idle connection; default 75 s, longer than the clients' own, so that they do not send into a closing one.
   */
  keepAliveTimeoutMs: number;
  /**
   * For a connection on which a request is under way and no byte moves, such as one whose client has stopped reading;
   * default 120 s. To be longer than any request may take, and than a watch's heartbeat.
   */
  stallTimeoutMs: number;
  /**
   * How long a client may send nothing of a body that nobody reads, after the answer, before the connection is closed;
   * default 1 s.
   */
  lingerMs: number;
}

export interface HttpServerOptions {
  /** The whole chain; `withStatus` must be in it. */
  handler: Handler;
  log: Logger;
  limits?: Partial<HttpServerLimits>;
  /** Who is believed about its clients' addresses. Default: nobody. */
  proxies?: TrustedProxies;
  /** What a connection beyond the limit may still ask, by its path. Default: nothing. */
  isProbe?: (path: string) => boolean;
  /** What requests may take of the process's memory. Default: nothing is counted. */
  memory?: ContextMemory;
}

export interface ListenOptions {
  host: string;
  /** 0 takes a free one. */
  port: number;
  /** With it https is spoken. */
  certificate?: ServerCertificate;
}

const defaultLimits: HttpServerLimits = {
  urlBytes: 64 * 1024,
  headerBytes: 32 * 1024,
  headerCount: 256,
  connections: 10_000,
  connectionsPerAddress: 0,
  requestsPerConnection: 0,
  headersTimeoutMs: 30_000,
  keepAliveTimeoutMs: 75_000,
  stallTimeoutMs: 120_000,
  lingerMs: 1000,
};

/**
 * Connections the system holds until they are accepted, one a turn of the event loop: clients may come back all at
 * once.
 */
const backlog = 4096;
/** How long an aborted request may take to come to its end before `close` no longer waits for it. */
const settleMs = 1000;
/** From a connection until its TLS handshake is done. */
const handshakeTimeoutMs = 10_000;
/** So many may be under way whatever the limit of connections is. */
const fewHandshakes = 2 * reservedConnections;
/**
 * While connections that ask nothing are kept open after a drain has begun: closed at once, they would cut off a
 * request on its way.
 */
const idleDrainMs = 1000;
/** For connections that are made but not yet accepted when a drain begins. */
const longestBacklogMs = 500;
/** After the time limit of a drain, for the answers that say so. */
const finalResponseMs = 250;

/**
 * Turns requests on sockets into contexts for one handler, on one listener or several that share its limits, and ends
 * without losing any that is under way.
 */
export class HttpServer {
  private readonly handler: Handler;
  private readonly log: Logger;
  private readonly limits: HttpServerLimits;
  private readonly options: ServerOptions;
  private readonly servers: Server[] = [];
  private readonly isProbe: (path: string) => boolean;
  private readonly proxies: TrustedProxies;
  private readonly memory: ContextMemory | undefined;
  private readonly admitted: ConnectionLimits;
  private readonly drain = new AbortController();
  /** From the first byte of a request until its handler has settled and its response is closed. */
  private readonly inFlight = new Set<ServerRequestContext>();
  /** Connections that have brought no request yet; Node takes them for busy when it closes idle ones. */
  private readonly fresh = new Set<Socket>();
  /** Connections whose TLS handshake is not done, by both their ends. */
  private readonly greeting = new Map<string, Socket>();
  private failedHandshakes = 0;
  private readonly pipelines = new Map<Duplex, Pipeline>();
  /** Connections whose further bytes are not read as requests. */
  private readonly broken = new WeakSet<Duplex>();
  private readonly onIdle = new Set<() => void>();
  /** The drain no longer waits for what connections that are open might ask. */
  private isParting = false;
  private closing: Promise<void> | undefined;

  constructor({
    handler,
    log,
    limits,
    proxies = new TrustedProxies([]),
    isProbe = () => false,
    memory,
  }: HttpServerOptions) {
    this.handler = handler;
    this.log = log;
    this.limits = { ...defaultLimits, ...limits };
    this.isProbe = isProbe;
    this.proxies = proxies;
    this.memory = memory;
    this.admitted = new ConnectionLimits(this.limits, {
      proxies,
      isIdle: (socket) => this.pipelines.get(socket)?.isIdle !== false,
      isUnread: (socket) => this.pipelines.get(socket)?.isUnread === true,
    });
    setMaxListeners(0, this.drain.signal);
    this.options = {
      // Node counts the URL too; checkRequest holds each to its own limit.
      maxHeaderSize: this.limits.urlBytes + this.limits.headerBytes,
      headersTimeout: this.limits.headersTimeoutMs,
      connectionsCheckingInterval: Math.min(this.limits.headersTimeoutMs, 5000),
      keepAliveTimeout: this.limits.keepAliveTimeoutMs,
      requestTimeout: 0,
      requireHostHeader: false,
      noDelay: true,
    };
  }

  /**
   * Resolves when connections are accepted, with the address. May be called for several. Rejects where the address is
   * taken.
   */
  async listen({ host, port, certificate }: ListenOptions): Promise<AddressInfo> {
    const server = this.newServer(certificate);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ port, host, backlog }, () => {
        server.off('error', reject);
        resolve();
      });
    });
    server.on('error', (error) => this.log.error({ err: error }, 'http server'));
    this.servers.push(server);
    return addressOf(server);
  }

  private newServer(certificate: ServerCertificate | undefined): Server {
    const server = certificate === undefined ? createServer(this.options) : this.newTlsServer(certificate);
    // As many again as are kept for probes: of those some are about to be closed.
    server.maxConnections = this.limits.connections + 2 * reservedConnections;
    server.on('drop', () => this.admitted.countRefused());
    server.timeout = this.limits.stallTimeoutMs;
    // Above its count Node drops headers silently, a second Authorization among them.
    server.maxHeadersCount = 0;
    if (certificate === undefined) {
      server.on('connection', (socket: Socket) => {
        if (this.admitted.add(socket) === 'none') socket.destroy();
        else this.expect(socket);
      });
    }
    const serve = (request: IncomingMessage, response: ServerResponse): void => this.take(request, response);
    server.on('request', serve);
    // readBody sends the "100 Continue", once it is known that the body is wanted.
    server.on('checkContinue', serve);
    server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
      this.take(request, response, new StatusError(417, 'BadRequest', 'only "Expect: 100-continue" is understood')),
    );
    server.on('connect', (_request: IncomingMessage, socket: Socket) => this.endProxied(socket));
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => this.endBroken(error, socket));
    return server;
  }

  private newTlsServer(certificate: ServerCertificate): Server {
    const server = createTlsServer({
      ...this.options,
      ...certificate.pair,
      handshakeTimeout: handshakeTimeoutMs,
      minVersion: 'TLSv1.2',
    });
    server.once(
      'close',
      certificate.onReplace((pair) => server.setSecureContext({ ...pair, minVersion: 'TLSv1.2' })),
    );
    // Before Node's own, which takes the connection out of its socket.
    server.prependListener('connection', (socket: Socket) => {
      if (this.admitted.add(socket) === 'none') socket.destroy();
      else this.greet(socket);
    });
    server.on('secureConnection', (socket: Socket) => {
      const greeted = this.greeting.get(endsOf(socket));
      if (greeted !== undefined) this.admitted.carry(greeted, socket);
      this.greeting.delete(endsOf(socket));
      this.expect(socket);
    });
    server.on('tlsClientError', (error) => this.log.debug({ err: error }, 'a TLS handshake failed'));
    return server;
  }

  /**
   * Until its TLS handshake is done. One that ends before has failed, unless it was we who ended it. Whoever begins
   * very many closes no connection whose handshake is done.
   */
  private greet(socket: Socket): void {
    const ends = endsOf(socket);
    const [oldest] = this.greeting.values();
    if (oldest !== undefined && this.greeting.size >= Math.max(this.limits.connections / 2, fewHandshakes))
      this.admitted.cutIdle(oldest);
    this.greeting.set(ends, socket);
    socket.once('close', () => {
      if (this.greeting.delete(ends) && !this.isParting && !this.admitted.hasCut(socket)) this.failedHandshakes += 1;
    });
  }

  /** From here on requests may come. */
  private expect(socket: Socket): void {
    this.fresh.add(socket);
    this.pipelines.set(socket, new Pipeline(socket));
    socket.once('close', () => {
      this.fresh.delete(socket);
      this.pipelines.delete(socket);
    });
  }

  /** Connections open now; and so far those refused, and those on which TLS did not come about. */
  get connections(): { open: number; refused: ConnectionLimits['refused']; failedHandshakes: number } {
    return { open: this.admitted.count, refused: this.admitted.refused, failedHandshakes: this.failedHandshakes };
  }

  /** Of the first listener. Throws before `listen` and after `close`. */
  get address(): AddressInfo {
    const [first] = this.servers;
    if (first === undefined) throw new Error('the server is not listening');
    return addressOf(first);
  }

  /**
   * Stops accepting, tells watches to end, and waits for requests under way; after `drainTimeoutMs` their signals abort
   * and their sockets are destroyed. What comes meanwhile on connections that are open is served, and the answer says
   * that it is the connection's last; one that brings nothing for a second is closed. Never rejects; every call returns
   * the same promise.
   */
  close({ drainTimeoutMs }: { drainTimeoutMs: number }): Promise<void> {
    this.closing ??= this.drainAndClose(drainTimeoutMs);
    return this.closing;
  }

  private async drainAndClose(drainTimeoutMs: number): Promise<void> {
    const deadline = performance.now() + drainTimeoutMs;
    for (const pipeline of this.pipelines.values()) pipeline.endAfterLast();
    this.drain.abort(newServiceUnavailable('the server is shutting down'));
    await this.acceptWaiting(Math.min(longestBacklogMs, drainTimeoutMs / 4));
    const closed = this.stopListening();
    // Between two requests of a connection none is under way.
    const done = closed.then(() => this.idle());
    if (!(await endsWithin(Math.min(idleDrainMs, drainTimeoutMs / 4), closed))) {
      this.isParting = true;
      // What has already arrived is read first, so that no whole request is lost.
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      for (const server of this.servers) server.closeIdleConnections();
      for (const socket of [...this.fresh, ...this.greeting.values()]) socket.destroy();
    }
    if (await endsWithin(Math.max(0, deadline - performance.now()), done)) return;
    for (const pipeline of this.pipelines.values()) pipeline.endAfterServed();
    for (const context of this.inFlight) context.abort(newServiceUnavailable('the server is shutting down'));
    // Time to say so to whoever still waits for an answer.
    await endsWithin(finalResponseMs, this.idle());
    for (const server of this.servers) server.closeAllConnections();
    if (!(await endsWithin(settleMs, done))) {
      this.log.error(
        { paths: [...this.inFlight].slice(0, 10).map((context) => context.info.path.slice(0, 256)) },
        'requests ignored the end of the server',
      );
    }
  }

  /**
   * Node accepts one connection a turn of the event loop; those the system holds for us would be reset with the
   * listener.
   */
  private async acceptWaiting(longestMs: number): Promise<void> {
    const deadline = performance.now() + longestMs;
    for (let quietTurns = 0; quietTurns < 3 && performance.now() < deadline;) {
      const before = this.admitted.seen;
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      quietTurns = this.admitted.seen === before ? quietTurns + 1 : 0;
    }
  }

  /**
   * Resolves when every connection is closed. The http server's own `close` would begin by closing those that are idle.
   */
  private async stopListening(): Promise<void> {
    await Promise.all(
      this.servers.map(async (server) => {
        await new Promise<void>((resolve) => {
          NetServer.prototype.close.call(server, () => resolve());
        });
        // Ends its watch over slow headers, which would hold the process.
        server.close();
      }),
    );
  }

  private idle(): Promise<void> {
    return new Promise((resolve) => {
      if (this.inFlight.size === 0) resolve();
      else this.onIdle.add(resolve);
    });
  }

  /**
   * What cannot be read must not cost the requests before it their answers: those come first, in order, and the
   * connection ends behind them.
   */
  private endBroken(error: NodeJS.ErrnoException, socket: Duplex): void {
    if (!isParseError(error)) return answerParseError(error, socket, this.log);
    // The parser says the same of every further byte.
    if (this.broken.has(socket)) return;
    this.broken.add(socket);
    const pipeline = this.pipelines.get(socket);
    const unanswered = pipeline?.unanswered ?? [];
    const last = unanswered.at(-1);
    if (last === undefined) return answerParseError(error, socket, this.log);
    if (last.req.complete) return this.endAfterLast(socket);
    // It is the body of this one that is broken.
    const answer = (): void => {
      if (last.writableEnded) this.endAfterLast(socket);
      else answerParseError(error, socket, this.log);
    };
    const before = unanswered.at(-2);
    if (before === undefined) return answer();
    pipeline?.dropLast();
    before.once('close', answer);
  }

  /** For CONNECT: Node has let go of the connection, but not of the answers that are due on it. */
  private endProxied(socket: Socket): void {
    const last = this.pipelines.get(socket)?.unanswered.at(-1);
    if (last === undefined) return answerRaw(socket, newBadRequest('this server is no proxy'), this.log);
    // Node has taken its own listeners off.
    socket
      .on('error', ignore)
      .once('timeout', () => socket.destroy())
      .resume();
    this.endAfterLast(socket);
  }

  private endAfterLast(socket: Duplex): void {
    const pipeline = this.pipelines.get(socket);
    pipeline?.endAfterLast();
    pipeline?.unanswered.at(-1)?.once('close', () => socket.end());
  }

  private take(request: IncomingMessage, response: ServerResponse, refusal?: StatusError): void {
    // Node tells a broken connection to whoever listened a moment ago: if that reader is done by then, nobody is left,
    // and the process would end.
    request.on('error', ignore);
    const pipeline = this.pipelines.get(request.socket);
    // A request on a connection that was closed as it came.
    pipeline?.add(response, () => void this.serve({ request, response, pipeline, refusal }));
  }

  private async serve({
    request,
    response,
    pipeline,
    refusal,
  }: {
    request: IncomingMessage;
    response: ServerResponse;
    pipeline: Pipeline;
    refusal: StatusError | undefined;
  }): Promise<void> {
    const isBeyond = this.admitted.isBeyond(request.socket);
    const refused = isBeyond && !this.isProbe((request.url ?? '').split('?', 1)[0]!) ? tooManyConnections : refusal;
    const { log, limits, proxies, memory } = this;
    const context = new ServerRequestContext(request, response, {
      log,
      limits,
      proxies,
      memory,
      draining: this.drain.signal,
      refusal: refused,
      pipeline,
    });
    this.inFlight.add(context);
    this.fresh.delete(request.socket);
    let open = true;
    let running = true;
    response.on('close', () => {
      open = false;
      this.afterClose(context);
      if (!running) this.release(context);
    });
    if (context.rejection !== undefined || isBeyond || this.admitted.isLastRequest(request.socket))
      pipeline.endAfterServed();
    else if (this.drain.signal.aborted) pipeline.endAfterLast();
    try {
      await this.handler(context);
      if (!response.writableEnded && !response.destroyed) throw new Error('the handler gave no answer');
    } catch (error) {
      context.log.error({ err: error }, 'request failed outside withStatus');
      request.socket.destroy();
    }
    running = false;
    pipeline.noteWorkDone(response);
    context.endParsing();
    if (!open) this.release(context);
  }

  private afterClose(context: ServerRequestContext): void {
    const { request, response } = context;
    if (!response.writableFinished) context.abort(new ClientGoneError());
    else if (!request.complete && hasBody(request.headers)) takeInUnreadBody(request, this.limits.lingerMs);
    // The socket becomes idle after this event.
    if (this.isParting) setImmediate(() => this.servers.forEach((server) => server.closeIdleConnections()));
  }

  private release(context: ServerRequestContext): void {
    context.endBytes();
    this.inFlight.delete(context);
    if (this.inFlight.size === 0) for (const resolve of this.onIdle) resolve();
  }
}

/** Of the connection's end the response tells. */
function ignore(): void {}

/** Throws for a server that is not listening. */
function addressOf(server: Server): AddressInfo {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server is not listening');
  return address;
}

/** The same for a connection before and after its handshake, which are two sockets to Node. */
function endsOf({ localPort, remoteAddress, remotePort }: Socket): string {
  return `${localPort}/${remoteAddress}/${remotePort}`;
}

const tooManyConnections = newTooManyRequests('too many connections, please try again later');

/** The reason of a signal whose client closed the connection. */
export class ClientGoneError extends Error {
  constructor() {
    super('the client closed the connection');
    this.name = 'ClientGoneError';
  }
}
