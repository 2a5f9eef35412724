import { request as httpRequest, type IncomingHttpHeaders, type RequestOptions } from 'node:http';
import { connect, type Socket } from 'node:net';
import { pino, type Logger } from 'pino';
import { TrustedProxies } from '../connection/client-address.ts';
import { HttpServer, type HttpServerLimits } from './http-server.ts';
import { chain } from '../filters/chain.ts';
import { withRequestId } from '../filters/with-request-id.ts';
import { withStatus } from '../filters/with-status.ts';
import { readBody } from '../request/read-body.ts';
import type { Filter, Handler, RequestContext } from '../request/request-context.ts';
import { sendJson } from '../answer/respond.ts';
import type { ContextMemory } from './server-request-context.ts';

export interface TestAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface TestHttpServer {
  server: HttpServer;
  port: number;
  /** Parsed log lines. */
  logs: Record<string, unknown>[];
  /** Sends one request on its own connection. */
  readonly send: (options: RequestOptions & { body?: string | Buffer }) => Promise<TestAnswer>;
  /** Sends raw bytes and resolves with all bytes received until the server closes. */
  readonly raw: (bytes: string) => Promise<string>;
  readonly open: () => Promise<Socket>;
}

/** A server on a free port, with request ids, `withStatus` and the given filters around the handler. */
export async function startTestServer(
  handler: Handler,
  options: {
    filters?: readonly Filter[] | ((log: Logger) => readonly Filter[]);
    limits?: Partial<HttpServerLimits>;
    proxies?: TrustedProxies;
    isProbe?: (path: string) => boolean;
    memory?: ContextMemory;
  } = {},
): Promise<TestHttpServer> {
  const logs: Record<string, unknown>[] = [];
  const log = pino(
    { level: 'debug' },
    { write: (line: string) => void logs.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const { filters = [], limits = {}, proxies = new TrustedProxies([]), isProbe = () => false, memory } = options;
  const server = new HttpServer({
    handler: chain(typeof filters === 'function' ? filters(log) : [withRequestId(), withStatus(), ...filters], handler),
    log,
    limits,
    proxies,
    isProbe,
    ...(memory === undefined ? {} : { memory }),
  });
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 });
  const open = (): Promise<Socket> =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => resolve(socket)).on('error', reject);
    });
  return {
    server,
    port,
    logs,
    open,
    send: (request) => sendRequest(port, request),
    raw: async (bytes) => {
      const socket = await open();
      socket.write(bytes);
      return await readAll(socket);
    },
  };
}

/** All bytes received from a socket until it is closed, in whichever way. */
export function readAll(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('error', () => undefined).on('close', () => resolve(text));
  });
}

function sendRequest(
  port: number,
  { body, ...options }: RequestOptions & { body?: string | Buffer },
): Promise<TestAnswer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port, agent: false, ...options }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => void chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** A promise and the function that resolves it: a test uses it to wait for a handler. */
export function deferred<T = void>(): { opened: Promise<T>; open: (value: T) => void } {
  let open!: (value: T) => void;
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** A handler that answers at once. */
export function answerOk(context: RequestContext): Promise<void> {
  return sendJson(context, 200, '{"ok":true}');
}

/**
 * A handler that answers the first request with 201 once the test lets it, and others with 200 when their body has
 * arrived.
 */
export function heldFirst(): {
  begun: ReturnType<typeof deferred<RequestContext>>;
  finish: ReturnType<typeof deferred<void>>;
  handler: Handler;
} {
  const begun = deferred<RequestContext>();
  const finish = deferred();
  let isFirst = true;
  const handler: Handler = async (context) => {
    if (!isFirst) {
      await readBody(context);
      return answerOk(context);
    }
    isFirst = false;
    begun.open(context);
    await finish.opened;
    await sendJson(context, 201, '{}');
  };
  return { begun, finish, handler };
}
