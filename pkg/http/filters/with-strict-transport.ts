import type { Socket } from 'node:net';
import type { Filter } from '../request/request-context.ts';

/**
 * Tells browsers to come by https alone from now on, on answers over TLS: for `days`, to every port of the name; 0
 * takes it back, undefined says nothing. Never to a name that other programs of the same machine share (localhost, an
 * address): these would be shut out as well. Source: RFC 6797.
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

/** Does the connection speak TLS? */
export function isEncrypted(socket: Socket): boolean {
  return (socket as { encrypted?: boolean }).encrypted === true;
}

function isOwnName(host: string): boolean {
  const name = host.replace(/:\d*$/, '').toLowerCase();
  return name !== 'localhost' && !name.endsWith('.localhost') && !name.startsWith('[') && !/^[\d.]*$/.test(name);
}
