import { DatabaseError } from '../database-error.ts';

export interface DatabaseHost {
  /** A name, an address, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
}

/** `any`: a server that accepts connections; the others: one that accepts writes. Source: libpq. */
const targets = ['any', 'read-write', 'primary'] as const;
export type DatabaseTarget = (typeof targets)[number];

export interface DatabaseHosts {
  readonly hosts: readonly DatabaseHost[];
  readonly target: DatabaseTarget;
}

const defaultPort = 5432;
const maxHosts = 16;

/**
 * Takes the hosts of `postgres://user@a:5432,b:5432/name?target_session_attrs=read-write` out of the URL: the returned
 * one names the first host only, and the hosts are undefined if there is nothing to choose. A host without a port has
 * 5432. @throws DatabaseError. Source:
 * https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-MULTIPLE-HOSTS
 */
export function takeHosts(url: string): { url: string; hosts: DatabaseHosts | undefined } {
  const [, start, user = '', list, rest] = /^([a-z]+:\/\/)([^/?#]*@)?([^/?#]*)(.*)$/s.exec(url)! as unknown as [
    string,
    string,
    string | undefined,
    string,
    string,
  ];
  const { target, rest: restOfUrl } = takeTarget(rest);
  const parts = list.split(',');
  if (parts.length > maxHosts) throw new DatabaseError(`The database url has more than ${maxHosts} hosts.`);
  if (parts.length === 1 && target === 'any') return { url: start + user + list + restOfUrl, hosts: undefined };
  const hosts = parts.map((part) => parseHost(part));
  return { url: `${start}${user}${parts[0]!}${restOfUrl}`, hosts: { hosts, target } };
}

function takeTarget(rest: string): { target: DatabaseTarget; rest: string } {
  const cut = rest.indexOf('?');
  const parameters = new URLSearchParams(cut === -1 ? '' : rest.slice(cut + 1));
  const values = parameters.getAll('target_session_attrs');
  if (values.length === 0) return { target: 'any', rest };
  const target = targets.find((known) => values.length === 1 && known === values[0]);
  if (target === undefined)
    throw new DatabaseError(
      `The database url has a target_session_attrs that is not one of ${targets.join(', ')}: svc writes to its database.`,
    );
  parameters.delete('target_session_attrs');
  const left = parameters.toString();
  return { target, rest: rest.slice(0, cut) + (left === '' ? '' : `?${left}`) };
}

function parseHost(text: string): DatabaseHost {
  const [, bracketed, plain = '', port] = /^(?:\[([0-9a-fA-F:.%]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const number = port === undefined ? defaultPort : Number(port);
  const host = bracketed ?? decodeHost(plain);
  if (host === undefined || host === '' || number < 1 || number > 65_535)
    throw new DatabaseError(
      'The database url has a host that cannot be read; expected postgres://user:password@host:port,host:port/database.',
    );
  return { host, port: number };
}

function decodeHost(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
