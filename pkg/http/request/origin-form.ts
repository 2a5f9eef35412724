/**
 * Scheme and authority of a request target in absolute form. A user in it would be a way to show people another host
 * than the one meant.
 */
const authority = /^https?:\/\/[^/?#@\\\s]+(?=[/?]|$)/i;

/**
 * The request target without scheme and authority, which a client that takes this server for a proxy writes before the
 * path. Which host it names makes no difference here, nor does the Host header. Any other target comes back as it is.
 * Source: RFC 9112, 3.2.2: a server must accept this form.
 */
export function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const match = authority.exec(target);
  if (match === null) return target;
  const rest = target.slice(match[0].length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}
