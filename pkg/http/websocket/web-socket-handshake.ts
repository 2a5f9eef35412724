import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocketServer } from 'ws';
import { newBadRequest, type StatusError } from '#pkg/apimachinery/index';
import type { WebSocketConnection, WebSocketUpgrade } from '../request/web-socket-upgrade.ts';
import { ServerWebSocket } from './server-web-socket.ts';

/** A client has nothing to send. Bytes. */
const maxMessageBytes = 1024;
const maxFragments = 16;

export interface WebSocketHandshakeOptions {
  request: IncomingMessage;
  response: ServerResponse;
  socket: Socket;
  /** The bytes that came with the request. */
  head: Buffer;
}

/**
 * The opening handshake of a WebSocket. It moves a token from the subprotocols to the Authorization header, so that all
 * that follows finds it there, and nothing sends it back. Source: RFC 6455, 4.2;
 * k8s.io/apiserver/pkg/authentication/request/websocket.
 */
export class WebSocketHandshake implements WebSocketUpgrade {
  readonly hasTokenProtocol: boolean;
  /** Why the handshake is not legal; undefined if it is. */
  readonly fault: StatusError | undefined;
  readonly #options: WebSocketHandshakeOptions;
  #connection: ServerWebSocket | undefined;

  constructor(options: WebSocketHandshakeOptions) {
    this.#options = options;
    const { headers } = options.request;
    const protocols = takeProtocols(headers);
    this.hasTokenProtocol = protocols.hasToken;
    if (headers['sec-websocket-version'] !== version) {
      options.response.setHeader('Sec-WebSocket-Version', version);
      this.fault = newBadRequest(`the header Sec-WebSocket-Version must be ${version}`);
    } else if (!keyForm.test(headers['sec-websocket-key'] ?? '')) {
      this.fault = newBadRequest('the header Sec-WebSocket-Key must be 16 bytes in base64');
    } else if (protocols.fault !== undefined) {
      this.fault = newBadRequest(`the header Sec-WebSocket-Protocol ${protocols.fault}`);
    }
  }

  /** Was it accepted, and has its closing begun? */
  get isClosing(): boolean {
    return this.#connection?.isClosing === true;
  }

  accept(onRefused: () => void): WebSocketConnection | undefined {
    const { request, response, socket, head } = this.#options;
    // Writes nothing, but tells everyone who waits for the beginning of the answer.
    response.writeHead(101);
    const server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      maxPayload: maxMessageBytes,
      maxFragments,
      // One frame in a turn of the event loop: a client may send thousands at once.
      allowSynchronousEvents: false,
    });
    server.on('headers', (lines: string[]) => lines.push(...headerLines(response)));
    server.handleUpgrade(request, socket, head, (webSocket) => {
      this.#connection = new ServerWebSocket({ webSocket, socket, onRefused });
    });
    return this.#connection;
  }
}

const version = '13';
const keyForm = /^[+/0-9A-Za-z]{22}==$/;
const protocolForm = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const maxProtocols = 16;
const tokenPrefix = 'base64url.bearer.authorization.k8s.io.';
/** The protocols that clients of Kubernetes name for a watch. The frames are the same for all. */
const knownProtocols: ReadonlySet<string> = new Set(['base64.binary.k8s.io', 'binary.k8s.io']);

/**
 * Leaves one protocol in the headers, the one that the server selects: a known one, else the first, as Kubernetes sends
 * back any. Takes a token out of them.
 */
function takeProtocols(headers: IncomingHttpHeaders): { hasToken: boolean; fault?: string } {
  const text = headers['sec-websocket-protocol'];
  if (text === undefined) return { hasToken: false };
  delete headers['sec-websocket-protocol'];
  const offered = text.split(',').map((name) => name.trim());
  const tokens = offered.filter((name) => name.startsWith(tokenPrefix));
  const others = offered.filter((name) => !name.startsWith(tokenPrefix));
  const hasToken = tokens.length > 0;
  if (offered.length > maxProtocols) return { hasToken, fault: `may list at most ${maxProtocols} protocols` };
  if (new Set(offered).size < offered.length || !offered.every((name) => protocolForm.test(name)))
    return { hasToken, fault: 'must be a list of different names' };
  if (tokens.length > 1) return { hasToken, fault: 'may have one token only' };
  if (hasToken && headers.authorization !== undefined)
    return { hasToken, fault: 'must not have a token next to the header Authorization' };
  if (hasToken && others.length === 0)
    return { hasToken, fault: 'must name another protocol next to the token, for the server to select' };
  if (hasToken) headers.authorization = `Bearer ${decode(tokens[0]!.slice(tokenPrefix.length))}`;
  const selected = others.find((name) => knownProtocols.has(name)) ?? others[0];
  if (selected !== undefined) headers['sec-websocket-protocol'] = selected;
  return { hasToken };
}

/** Empty, which is no token, for what is not base64url without padding. */
function decode(encoded: string): string {
  const token = Buffer.from(encoded, 'base64url').toString();
  return Buffer.from(token).toString('base64url') === encoded ? token : '';
}

function headerLines(response: ServerResponse): string[] {
  return Object.entries(response.getHeaders()).flatMap(([name, values]) =>
    [values ?? []].flat().map((value) => `${name}: ${value}`),
  );
}
