import type { Socket } from 'node:net';
import type { Filter } from '../request/request-context.ts';

/**
 * Makes browsers use only https for `days`, for every port of the name; sent only over TLS. 0 revokes it; undefined
 * sends nothing. Never sent for localhost or an address: it would block http to other programs of that machine. Source:
 * RFC 6797.
 */
export function withStrictTransport(days: number | undefined): Filter {
  if (days === undefined) return (next) => next;
  const value = `max-age=${days * 86_400}`;
  return (next) => (context) => {
    const { request, response } = context;
    if (isEncrypted(request.socket) && isOwnName(request.headers.host ?? ''))
      response.setHeader('Strict-Transport-Security', value);
    return next(context);
  };
}

/** Whether the connection uses TLS. */
export function isEncrypted(socket: Socket): boolean {
  return (socket as { encrypted?: boolean }).encrypted === true;
}

function isOwnName(host: string): boolean {
  const name = host.replace(/:\d*$/, '').toLowerCase();
  return name !== 'localhost' && !name.endsWith('.localhost') && !name.startsWith('[') && !/^[\d.]*$/.test(name);
}
