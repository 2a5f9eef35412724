import { IncomingMessage } from 'node:http';
import { hasBody } from '../request/read-body.ts';

/**
 * Node takes every request that asks for an upgrade off its connection if the server listens to `upgrade`. Only the
 * handshake of a WebSocket shall be: a client that asks for h2c expects an ordinary answer.
 */
export class UpgradableRequest extends IncomingMessage {
  // Without an initial value: the constructor of IncomingMessage sets `upgrade`.
  declare private isAsked: boolean | null;

  /** Node sets whether the request asks for an upgrade, before it has the headers, and reads what to do after that. */
  get upgrade(): boolean {
    return this.isAsked === true && (this.method === 'CONNECT' || isHandshake(this));
  }

  set upgrade(isAsked: boolean | null) {
    this.isAsked = isAsked;
  }
}

function isHandshake({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && !hasBody(headers);
}
