import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

/** Faults of a server; `well` answers correctly. */
export type Fault =
  | 'well'
  | 'internal error'
  | 'stack'
  | 'sql'
  | 'secret'
  | 'hang'
  | 'close'
  | 'garble'
  | 'two answers'
  | 'wrong code'
  | 'no cause'
  | 'no request id'
  | 'no retry'
  | 'unnamed 503'
  | 'html'
  | 'no location'
  | 'prototype key'
  | 'lone surrogate'
  | 'never ends'
  | 'redirect'
  | 'no challenge';

const headers = 'X-Request-Id: a\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-cache, private\r\n';

/** A server that answers every request with one fault, for tests of the oracles. */
export class BadServer {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  static async start(fault: () => Fault, onRequest: () => Promise<void> = () => Promise.resolve()): Promise<BadServer> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new BadServer(server, fault, onRequest);
  }

  private constructor(server: Server, fault: () => Fault, onRequest: () => Promise<void>) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('data', () => void onRequest().then(() => answer(socket, fault())));
    });
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

function answer(socket: Socket, fault: Fault): void {
  if (fault === 'hang') return;
  if (fault === 'close') return void socket.destroy();
  socket.write(textOf(fault));
}

function textOf(fault: Fault): string {
  switch (fault) {
    case 'internal error':
      return failure(500, 'InternalError', 'Internal error occurred');
    case 'stack':
      return failure(400, 'BadRequest', 'Error: x\\n    at parse (/srv/app/main.js:1:2)');
    case 'sql':
      return failure(400, 'BadRequest', 'invalid input syntax for type integer');
    case 'secret':
      return failure(400, 'BadRequest', 'the token hunter2 is not known');
    case 'garble':
      return `${response(200, '{}')}HTTP/1.1 200`;
    case 'two answers':
      return response(200, '{}').repeat(2);
    case 'wrong code':
      return response(400, status(404, 'NotFound', 'x'));
    case 'no cause':
      return failure(422, 'Invalid', 'Post x is invalid');
    case 'no request id':
      return response(200, '{}').replace('X-Request-Id: a\r\n', '');
    case 'no retry':
      return failure(504, 'Timeout', 'Timeout: Too large resource version: 9, current: 1');
    case 'unnamed 503':
      return failure(503, 'ServiceUnavailable', 'come back later', 'Retry-After: 1\r\n');
    case 'html':
      return response(404, '<h1>not found</h1>', 'Content-Type: text/html\r\n');
    case 'no location':
      return response(201, '{}');
    case 'prototype key':
      return response(200, '{"spec":{"__proto__":{}}}');
    case 'lone surrogate':
      return failure(400, 'BadRequest', '\\ud800');
    case 'never ends':
      return response(200, '{"a":').replace(/Content-Length: \d+/, 'Content-Length: 100');
    case 'redirect':
      return response(302, '', 'Location: /elsewhere\r\n');
    case 'no challenge':
      return failure(401, 'Unauthorized', 'Unauthorized');
    default:
      return response(200, '{}');
  }
}

function status(code: number, reason: string, message: string): string {
  return `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"${message}","reason":"${reason}","code":${code}}`;
}

function failure(code: number, reason: string, message: string, more = ''): string {
  return response(code, status(code, reason, message), more);
}

function response(code: number, body: string, more = ''): string {
  const type = more.includes('Content-Type') ? '' : 'Content-Type: application/json\r\n';
  return `HTTP/1.1 ${code} X\r\n${headers}${type}${more}Content-Length: ${body.length}\r\n\r\n${body}`;
}
