import { setMaxListeners } from 'node:events';
import { createServer, ServerResponse, type IncomingMessage, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { Server as NetServer, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import {
  isDoneWithin,
  newBadRequest,
  newServiceUnavailable,
  newTooManyRequests,
  StatusError,
} from '#pkg/apimachinery/index';
import { TrustedProxies } from '../connection/client-address.ts';
import {
  ConnectionLimits,
  reservedConnections,
  type AddressCounter,
  type ConnectionLimitsOptions,
} from '../connection/connection-limits.ts';
import type { RequestLimits } from '../request/check-request.ts';
import { hasBody } from '../request/read-body.ts';
import type { Handler } from '../request/request-context.ts';
import type { ServerCertificate } from '../tls/server-certificate.ts';
import { UpgradableRequest } from '../websocket/upgradable-request.ts';
import { WebSocketHandshake } from '../websocket/web-socket-handshake.ts';
import { Pipeline } from './pipeline.ts';
import { answerParseError, answerRaw, isParseError } from './raw-answer.ts';
import { ServerRequestContext, type ContextMemory } from './server-request-context.ts';
import { drainUnreadBody } from './unread-body.ts';

export interface HttpServerLimits extends RequestLimits, ConnectionLimitsOptions {
  /** How long the headers of a request may take to arrive; default 30 s. */
  headersTimeoutMs: number;
  /**
   * How long an idle connection stays open; default 75 s. Longer than the idle timeout of clients, so that no client
   * sends a request on a connection that the server is closing.
   */
  keepAliveTimeoutMs: number;
  /**
   * How long a connection with a running request stays open without a byte in either direction, for example because the
   * client has stopped reading; default 120 s. Must be longer than any request, and than the heartbeat of a watch.
   */
  stallTimeoutMs: number;
  /**
   * After the response to a request whose body was not read: how long the client may pause in sending the rest before
   * the server closes the connection; default 1 s.
   */
  lingerMs: number;
}

export interface HttpServerOptions {
  /** The complete handler chain, with `withStatus`. */
  handler: Handler;
  log: Logger;
  limits?: Partial<HttpServerLimits>;
  /** The proxies whose forwarded client addresses are trusted. Default: none. */
  proxies?: TrustedProxies;
  /** Whether a connection above the limit may request this path. Default: no path. */
  isProbe?: (path: string) => boolean;
  /** Memory budget of requests. Default: no limit. */
  memory?: ContextMemory;
  /** Counts connections by address, over several processes. Default: only those of this one count. */
  addresses?: AddressCounter | undefined;
}

export interface ListenOptions {
  host: string;
  /** 0: any free port. */
  port: number;
  /** With a certificate the listener speaks https. */
  certificate?: ServerCertificate;
  /** In a worker of `node:cluster`: no other worker shares the port. Default false. */
  isExclusive?: boolean;
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
 * Connections that the system queues until they are accepted. Node accepts one per iteration of the event loop, and all
 * clients may reconnect at the same time.
 */
const backlog = 4096;
/** How long `close` waits for an aborted request to end. */
const settleMs = 1000;
/** Timeout of a TLS handshake. */
const handshakeTimeoutMs = 10_000;
/** TLS handshakes that may run at a time, whatever the limit of connections is. */
const fewHandshakes = 2 * reservedConnections;
/**
 * How long idle connections stay open after a drain has begun: closing them at once would lose a request that is
 * already on its way.
 */
const idleDrainMs = 1000;
/** How long a drain accepts connections that the system has queued already. */
const maxBacklogMs = 500;
/** After the drain timeout: how long the final responses may take to be sent. */
const finalResponseMs = 250;

/**
 * An HTTP server with one or more listeners that share its limits. It gives each request to one handler as a context,
 * and drains running requests before it closes.
 */
export class HttpServer {
  readonly #handler: Handler;
  readonly #log: Logger;
  readonly #limits: HttpServerLimits;
  readonly #options: ServerOptions;
  readonly #servers: Server[] = [];
  readonly #isProbe: (path: string) => boolean;
  readonly #proxies: TrustedProxies;
  readonly #memory: ContextMemory | undefined;
  readonly #admitted: ConnectionLimits;
  #drain = newDrain();
  /** From the first byte of a request until its handler has settled and its response is closed. */
  readonly #inFlight = new Set<ServerRequestContext>();
  /** Connections without a request so far; Node counts them as busy when it closes idle connections. */
  readonly #fresh = new Set<Socket>();
  /** Connections in the TLS handshake, keyed by both of their sockets. */
  readonly #handshaking = new Map<string, Socket>();
  #failedHandshakes = 0;
  readonly #pipelines = new Map<Duplex, Pipeline>();
  /** Connections that Node no longer knows, because their last request asked for a WebSocket. */
  readonly #upgraded = new Set<Socket>();
  /** Connections whose further bytes are not read as requests. */
  readonly #broken = new WeakSet<Duplex>();
  readonly #onRelease = new Set<(context: ServerRequestContext) => void>();
  /** The drain no longer waits for further requests on open connections. */
  #isClosingIdle = false;
  #closing: Promise<void> | undefined;

  constructor({
    handler,
    log,
    limits,
    proxies = new TrustedProxies([]),
    isProbe = () => false,
    memory,
    addresses,
  }: HttpServerOptions) {
    this.#handler = handler;
    this.#log = log;
    this.#limits = { ...defaultLimits, ...limits };
    this.#isProbe = isProbe;
    this.#proxies = proxies;
    this.#memory = memory;
    this.#admitted = new ConnectionLimits(this.#limits, {
      proxies,
      isIdle: (socket) => this.#pipelines.get(socket)?.isIdle !== false,
      isUnread: (socket) => this.#pipelines.get(socket)?.isUnread === true,
      addresses,
    });
    this.#options = {
      // Node counts the URL too; checkRequest holds each to its own limit.
      maxHeaderSize: this.#limits.urlBytes + this.#limits.headerBytes,
      headersTimeout: this.#limits.headersTimeoutMs,
      connectionsCheckingInterval: Math.min(this.#limits.headersTimeoutMs, 5000),
      keepAliveTimeout: this.#limits.keepAliveTimeoutMs,
      requestTimeout: 0,
      requireHostHeader: false,
      IncomingMessage: UpgradableRequest,
      noDelay: true,
    };
  }

  /**
   * Resolves with the address once connections are accepted. May be called several times, once per listener. Rejects if
   * the address is in use.
   */
  async listen({ host, port, certificate, isExclusive = false }: ListenOptions): Promise<AddressInfo> {
    const server = this.#newServer(certificate);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ port, host, backlog, exclusive: isExclusive }, () => {
        server.off('error', reject);
        resolve();
      });
    });
    server.on('error', (error) => this.#log.error({ err: error }, 'the HTTP server failed'));
    this.#servers.push(server);
    return addressOf(server);
  }

  #newServer(certificate: ServerCertificate | undefined): Server {
    const server = certificate === undefined ? createServer(this.#options) : this.#newTlsServer(certificate);
    // Twice the number kept for probes, because some of these connections are about to be closed.
    server.maxConnections = this.#limits.connections + 2 * reservedConnections;
    server.on('drop', () => this.#admitted.countRefused());
    server.timeout = this.#limits.stallTimeoutMs;
    // Above its limit Node drops headers silently, for example a second Authorization.
    server.maxHeadersCount = 0;
    if (certificate === undefined) {
      server.on('connection', (socket: Socket) => {
        if (this.#admitted.add(socket) === 'none') socket.destroy();
        else this.#expect(socket);
      });
    }
    const serve = (request: IncomingMessage, response: ServerResponse): void => this.#take({ request, response });
    server.on('request', serve);
    // readBody sends the "100 Continue" once the handler wants the body.
    server.on('checkContinue', serve);
    server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
      this.#take({
        request,
        response,
        refusal: new StatusError(417, 'BadRequest', 'only "Expect: 100-continue" is understood'),
      }),
    );
    server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) =>
      this.#takeUpgrade(request, socket, head),
    );
    server.on('connect', (_request: IncomingMessage, socket: Socket) => this.#endProxied(socket));
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => this.#endBroken(error, socket));
    return server;
  }

  #newTlsServer(certificate: ServerCertificate): Server {
    const server = createTlsServer({
      ...this.#options,
      ...certificate.pair,
      handshakeTimeout: handshakeTimeoutMs,
      minVersion: 'TLSv1.2',
    });
    server.once(
      'close',
      certificate.onReplace((pair) => server.setSecureContext({ ...pair, minVersion: 'TLSv1.2' })),
    );
    // Before Node's own listener, which detaches the connection from its socket.
    server.prependListener('connection', (socket: Socket) => {
      if (this.#admitted.add(socket) === 'none') socket.destroy();
      else this.#trackHandshake(socket);
    });
    server.on('secureConnection', (socket: Socket) => {
      const greeted = this.#handshaking.get(endsOf(socket));
      if (greeted !== undefined) this.#admitted.carry(greeted, socket);
      this.#handshaking.delete(endsOf(socket));
      this.#expect(socket);
    });
    server.on('tlsClientError', (error) => this.#log.debug({ err: error }, 'a TLS handshake failed'));
    return server;
  }

  /**
   * Tracks a connection until its TLS handshake is done. If the connection ends before, the handshake has failed,
   * unless the server ended it. Many unfinished handshakes never close a connection whose handshake is done.
   */
  #trackHandshake(socket: Socket): void {
    const ends = endsOf(socket);
    const [oldest] = this.#handshaking.values();
    if (oldest !== undefined && this.#handshaking.size >= Math.max(this.#limits.connections / 2, fewHandshakes))
      this.#admitted.replaceIdle(oldest);
    this.#handshaking.set(ends, socket);
    socket.once('close', () => {
      if (this.#handshaking.delete(ends) && !this.#isClosingIdle && !this.#admitted.wasReplaced(socket))
        this.#failedHandshakes += 1;
    });
  }

  /** From now on the connection may send requests. */
  #expect(socket: Socket): void {
    this.#fresh.add(socket);
    this.#pipelines.set(socket, new Pipeline(socket));
    socket.once('close', () => {
      this.#fresh.delete(socket);
      this.#pipelines.delete(socket);
    });
  }

  /** Open connections now, and the totals of refused connections and failed TLS handshakes. */
  get connections(): { open: number; refused: ConnectionLimits['refused']; failedHandshakes: number } {
    return { open: this.#admitted.count, refused: this.#admitted.refused, failedHandshakes: this.#failedHandshakes };
  }

  /** The address of the first listener. Throws before `listen` and after `close`. */
  get address(): AddressInfo {
    const [first] = this.#servers;
    if (first === undefined) throw new Error('the server is not listening');
    return addressOf(first);
  }

  /**
   * Stops accepting connections, ends watches, and waits for running requests. After `drainTimeoutMs` it aborts their
   * signals and destroys their sockets. Requests that arrive meanwhile on open connections are served with `Connection:
   * close`; a connection that is idle for a second is closed. Never rejects; every call returns the same promise.
   */
  close({ drainTimeoutMs }: { drainTimeoutMs: number }): Promise<void> {
    this.#closing ??= this.#drainAndClose(drainTimeoutMs);
    return this.#closing;
  }

  async #drainAndClose(drainTimeoutMs: number): Promise<void> {
    const deadline = performance.now() + drainTimeoutMs;
    for (const pipeline of this.#pipelines.values()) pipeline.endAfterLast();
    this.#drain.abort(newServiceUnavailable('the server is shutting down'));
    await this.#acceptWaiting(Math.min(maxBacklogMs, drainTimeoutMs / 4));
    const closed = this.#stopListening();
    // Between two requests a connection has none in flight.
    const done = closed.then(() => this.#ended(this.#inFlight));
    if (!(await isDoneWithin(Math.min(idleDrainMs, drainTimeoutMs / 4), closed))) {
      this.#isClosingIdle = true;
      // Reads what has already arrived, so that no complete request is lost.
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      for (const server of this.#servers) server.closeIdleConnections();
      for (const socket of [...this.#fresh, ...this.#handshaking.values()]) socket.destroy();
    }
    if (await isDoneWithin(Math.max(0, deadline - performance.now()), done)) return;
    for (const pipeline of this.#pipelines.values()) pipeline.endAfterServed();
    for (const context of this.#inFlight) context.abort(newServiceUnavailable('the server is shutting down'));
    // Gives the server time to send the final responses.
    await isDoneWithin(finalResponseMs, this.#ended(this.#inFlight));
    for (const server of this.#servers) server.closeAllConnections();
    for (const socket of this.#upgraded) socket.destroy();
    if (!(await isDoneWithin(settleMs, done))) {
      this.#log.error({ paths: pathsOf(this.#inFlight) }, 'requests were still running when the server ended');
    }
  }

  /**
   * Ends watches, waits at most `drainTimeoutMs` for the requests under way, then aborts the rest with `reason` and gives
   * them a moment to answer. The server goes on: connections stay open, and later requests are served. Never rejects;
   * after `close` it does nothing.
   */
  async endRequests({ drainTimeoutMs, reason }: { drainTimeoutMs: number; reason: StatusError }): Promise<void> {
    if (this.#closing !== undefined) return;
    const underWay = new Set(this.#inFlight);
    const drain = this.#drain;
    this.#drain = newDrain();
    drain.abort(reason);
    const ended = this.#ended(underWay);
    if (await isDoneWithin(drainTimeoutMs, ended)) return;
    for (const context of underWay) context.abort(reason);
    if (await isDoneWithin(settleMs, ended)) return;
    const running = [...underWay].filter((context) => this.#inFlight.has(context));
    this.#log.warn({ paths: pathsOf(running) }, 'requests did not end when they were aborted');
  }

  /**
   * Node accepts one connection per iteration of the event loop. Closing the listener at once would reset the
   * connections that the system has queued.
   */
  async #acceptWaiting(longestMs: number): Promise<void> {
    const deadline = performance.now() + longestMs;
    for (let quietTurns = 0; quietTurns < 3 && performance.now() < deadline;) {
      const before = this.#admitted.seen;
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      quietTurns = this.#admitted.seen === before ? quietTurns + 1 : 0;
    }
  }

  /**
   * Resolves when every connection is closed. `close` of the http server would close idle connections at once.
   */
  async #stopListening(): Promise<void> {
    await Promise.all(
      this.#servers.map(async (server) => {
        await new Promise<void>((resolve) => {
          NetServer.prototype.close.call(server, () => resolve());
        });
        // Stops Node's timer for slow headers, which would keep the process alive.
        server.close();
      }),
    );
  }

  /** Resolves when these requests, and none that come later, have ended. */
  #ended(contexts: Iterable<ServerRequestContext>): Promise<void> {
    const left = new Set(contexts);
    if (left.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const released = (context: ServerRequestContext): void => {
        left.delete(context);
        if (left.size > 0) return;
        this.#onRelease.delete(released);
        resolve();
      };
      this.#onRelease.add(released);
    });
  }

  /**
   * A request that cannot be parsed must not prevent the responses to earlier requests of the connection: these are
   * sent first, in order, and then the connection is closed.
   */
  #endBroken(error: NodeJS.ErrnoException, socket: Duplex): void {
    if (!isParseError(error)) return answerParseError(error, socket, this.#log);
    // The parser repeats the error for every further byte.
    if (this.#broken.has(socket)) return;
    this.#broken.add(socket);
    const pipeline = this.#pipelines.get(socket);
    const unanswered = pipeline?.unanswered ?? [];
    const last = unanswered.at(-1);
    if (last === undefined) return answerParseError(error, socket, this.#log);
    if (last.req.complete) return this.#endAfterLast(socket);
    // The body of this request is malformed.
    const answer = (): void => {
      if (last.writableEnded) this.#endAfterLast(socket);
      else answerParseError(error, socket, this.#log);
    };
    const before = unanswered.at(-2);
    if (before === undefined) return answer();
    pipeline?.dropLast();
    before.once('close', answer);
  }

  /** For CONNECT: Node has detached the connection, but still owes the responses to earlier requests. */
  #endProxied(socket: Socket): void {
    const last = this.#pipelines.get(socket)?.unanswered.at(-1);
    if (last === undefined) return answerRaw(socket, newBadRequest('this server is no proxy'), this.#log);
    listenAgain(socket).resume();
    this.#endAfterLast(socket);
  }

  /** Node has detached the connection: it reads no more requests, and leaves the answer to this one to the server. */
  #takeUpgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    listenAgain(socket);
    this.#upgraded.add(socket);
    socket.once('close', () => this.#upgraded.delete(socket));
    // No client sends a handshake before it has the answers to its earlier requests.
    if (this.#pipelines.get(socket)?.isIdle !== true) {
      socket.resume();
      return this.#endAfterLast(socket);
    }
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => endUpgraded(socket, this.#limits.lingerMs));
    const webSocket = new WebSocketHandshake({ request, response, socket, head });
    this.#take({ request, response, webSocket });
  }

  #endAfterLast(socket: Duplex): void {
    const pipeline = this.#pipelines.get(socket);
    pipeline?.endAfterLast();
    pipeline?.unanswered.at(-1)?.once('close', () => socket.end());
  }

  #take(taken: TakenRequest): void {
    const { request, response } = taken;
    // Node emits a connection error after the reader has removed its listener. Without a listener the error would end
    // the process.
    request.on('error', ignore);
    if (request.socket.writableNeedDrain) keepReadRecords(request.socket);
    const pipeline = this.#pipelines.get(request.socket);
    // The connection was closed just as the request arrived.
    pipeline?.add(response, () => void this.#serve(taken, pipeline));
  }

  async #serve({ request, response, refusal, webSocket }: TakenRequest, pipeline: Pipeline): Promise<void> {
    const isBeyond = this.#admitted.isProbeOnly(request.socket);
    const refused = isBeyond && !this.#isProbe((request.url ?? '').split('?', 1)[0]!) ? tooManyConnections : refusal;
    const log = this.#log;
    const limits = this.#limits;
    const proxies = this.#proxies;
    const memory = this.#memory;
    const context = new ServerRequestContext(request, response, {
      log,
      limits,
      proxies,
      memory,
      draining: this.#drain.signal,
      refusal: refused,
      pipeline,
      webSocket,
    });
    this.#inFlight.add(context);
    this.#fresh.delete(request.socket);
    let open = true;
    let running = true;
    response.on('close', () => {
      open = false;
      this.#afterClose(context);
      if (!running) this.#release(context);
    });
    if (context.rejection !== undefined || isBeyond || this.#admitted.isLastRequest(request.socket))
      pipeline.endAfterServed();
    else if (this.#drain.signal.aborted) pipeline.endAfterLast();
    try {
      await this.#handler(context);
      if (!response.writableEnded && !response.destroyed && webSocket?.isClosing !== true)
        throw new Error('the handler gave no answer');
    } catch (error) {
      context.log.error({ err: error }, 'request failed outside withStatus');
      request.socket.destroy();
    }
    running = false;
    pipeline.noteWorkDone(response);
    context.endParsing();
    if (!open) this.#release(context);
  }

  #afterClose(context: ServerRequestContext): void {
    const { request, response } = context;
    if (!response.writableFinished) context.abort(new ClientGoneError());
    else if (!request.complete && hasBody(request.headers)) drainUnreadBody(request, this.#limits.lingerMs);
    // The socket becomes idle after this event.
    if (this.#isClosingIdle) setImmediate(() => this.#servers.forEach((server) => server.closeIdleConnections()));
  }

  #release(context: ServerRequestContext): void {
    context.endBytes();
    this.#inFlight.delete(context);
    for (const released of this.#onRelease) released(context);
  }
}

interface TakenRequest {
  request: IncomingMessage;
  response: ServerResponse;
  refusal?: StatusError;
  webSocket?: WebSocketHandshake;
}

/** Node has removed its own listeners from a connection that it has detached. */
function listenAgain(socket: Socket): Socket {
  return socket.on('error', ignore).once('timeout', () => socket.destroy());
}

/** Ends a connection that Node has detached, after an ordinary answer. Unread bytes would reset it. */
function endUpgraded(socket: Socket, lingerMs: number): void {
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(timer));
  socket.resume();
  socket.end();
}

/** Every request that is under way listens to it. */
function newDrain(): AbortController {
  const drain = new AbortController();
  setMaxListeners(0, drain.signal);
  return drain;
}

function pathsOf(contexts: Iterable<ServerRequestContext>): string[] {
  return [...contexts].slice(0, 10).map(({ info }) => info.path.slice(0, 256));
}

/** The response reports the end of the connection. */
function ignore(): void {}

/**
 * Makes Node read this connection by its stream, which keeps what arrives while it is paused. Node pauses a connection
 * until the answers before the request are sent; its parser, which otherwise reads the connection itself, then loses
 * the records of TLS that were decrypted with the head of the request.
 */
function keepReadRecords(socket: Socket): void {
  socket.on('data', ignore).off('data', ignore);
  // The stream still waits for a chunk from before the parser read the connection, and would never read again.
  socket.push('');
}

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
