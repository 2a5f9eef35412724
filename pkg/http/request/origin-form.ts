/**
 * Scheme and authority of a request target in absolute form. User info is refused: it can make a URL seem to name
 * another host.
 */
const authority = /^https?:\/\/[^/?#@\\\s]+(?=[/?]|$)/i;

/**
 * The request target without scheme and authority, which a client sends if it takes this server for a proxy. The host
 * in it is ignored, as is the Host header here. Any other target is returned unchanged. Source: RFC 9112, 3.2.2: a
 * server must accept this form.
 */
export function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const match = authority.exec(target);
  if (match === null) return target;
  const rest = target.slice(match[0].length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}
