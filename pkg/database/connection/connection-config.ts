import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type ConnectionOptions } from 'node:tls';
import type { ClientConfig } from 'pg';
import { DatabaseError, messageOf } from '../database-error.ts';
import { takeHosts, type DatabaseHosts } from './database-hosts.ts';
import type { DatabaseLog } from '../log.ts';

const modes = ['disable', 'require', 'verify-ca', 'verify-full'] as const;
type Mode = (typeof modes)[number];

/** libpq's security parameters that are not supported: an ignored one would give false security. */
const refusedParameters = /^(ssl|channel_binding$|gss|require_auth$|krb)/i;
/** Set by this program: servers of svc recognise each other by it. */
const ownParameters = ['application_name', 'fallback_application_name'];

export interface ConnectionConfig {
  readonly config: ClientConfig;
  /** What to choose from; undefined if the URL names one host, whatever its role. */
  readonly hosts: DatabaseHosts | undefined;
}

/**
 * The connection settings of a database URL. TLS parameters are those of libpq: `sslmode` (disable, require, verify-ca,
 * verify-full), `sslrootcert`, `sslcert`, `sslkey`. Without a mode: verify-full with an authority (of the URL or
 * `caFile`), else no TLS. `prefer` and `allow` are refused, since an attacker on the path could turn TLS off; so is
 * every other security parameter. The files are read at each connection, so do not copy `ssl`. If they are unusable,
 * the previous ones stay in use, and this is logged once. Throws DatabaseError, which never contains the URL. Source:
 * https://www.postgresql.org/docs/current/libpq-ssl.html
 */
export function connectionConfig(
  url: string,
  { caFile, log }: { caFile: string | undefined; log: DatabaseLog },
): ConnectionConfig {
  if (!/^postgres(ql)?:\/\//.test(url))
    throw new DatabaseError('The database url cannot be read; expected postgres://user:password@host:port/database.');
  if (hasStrayAt(url))
    throw new DatabaseError(
      'The database url has an @ in the wrong place; in user and password write %40 for @, %2F for /, %3F for ?, %23 for # and %25 for %.',
    );
  const { url: urlOfFirst, hosts } = takeHosts(url);
  const cut = urlOfFirst.indexOf('?');
  const parameters = new URLSearchParams(cut === -1 ? '' : urlOfFirst.slice(cut + 1));
  const named = ['host', 'port'].find((name) => parameters.has(name));
  if (named !== undefined && (hosts !== undefined || parameters.get(named)!.includes(',')))
    throw new DatabaseError(
      `The database url has several hosts or a target_session_attrs, and the parameter ${named}; write postgres://host:port,host:port/database.`,
    );
  const given = take(parameters, 'sslmode');
  const [rootcert, cert, key] = [
    take(parameters, 'sslrootcert'),
    take(parameters, 'sslcert'),
    take(parameters, 'sslkey'),
  ];
  for (const name of ownParameters) parameters.delete(name);
  const unknown = [...parameters.keys()].find((name) => refusedParameters.test(name));
  if (unknown !== undefined)
    throw new DatabaseError(
      `The database url has ${unknown.slice(0, 40)}, which is not supported; use sslmode, sslrootcert, sslcert and sslkey, each at most once.`,
    );
  if (rootcert !== undefined && caFile !== undefined)
    throw new DatabaseError(
      'The database has two authorities, sslrootcert in its url and svc.database.ca-file; remove one.',
    );
  const authority = rootcert ?? caFile;
  const mode =
    given === undefined
      ? authority === undefined
        ? 'disable'
        : 'verify-full'
      : modes.find((known) => known === given);
  if (mode === undefined)
    throw new DatabaseError(`The database url has an sslmode that is not one of ${modes.join(', ')}.`);
  const address = cut === -1 ? urlOfFirst : urlOfFirst.slice(0, cut);
  return {
    config: {
      connectionString: parameters.size === 0 ? address : `${address}?${parameters.toString()}`,
      ssl: tlsOf(mode, { authority, cert, key }, log),
    },
    hosts,
  };
}

/**
 * Otherwise a part of a password that is not percent-encoded would be read as host name, and shown if that is not
 * found.
 */
function hasStrayAt(url: string): boolean {
  const [authority, rest] = /^[^/]*\/\/([^/?#]*)(.*)$/s.exec(url)!.slice(1) as [string, string];
  return /[@,]/.test(authority) && rest.includes('@');
}

/** A parameter given twice is not removed, and is then refused. */
function take(parameters: URLSearchParams, name: string): string | undefined {
  const values = parameters.getAll(name);
  if (values.length === 1) parameters.delete(name);
  return values[0];
}

interface Files {
  authority: string | undefined;
  cert: string | undefined;
  key: string | undefined;
}

function tlsOf(mode: Mode, { authority, cert, key }: Files, log: DatabaseLog): false | ConnectionOptions {
  if (mode === 'disable') {
    if (authority !== undefined || cert !== undefined || key !== undefined)
      throw new DatabaseError(
        'The database url says sslmode=disable and names certificates; without TLS nothing checks them.',
      );
    return false;
  }
  if ((cert === undefined) !== (key === undefined))
    throw new DatabaseError('In the database url sslcert and sslkey belong together; name both.');
  if (mode === 'verify-ca' && authority === undefined)
    throw new DatabaseError(
      'The database url says sslmode=verify-ca, which needs an authority: add sslrootcert there, or set svc.database.ca-file.',
    );
  // Anyone can get a certificate of a public authority, for some name.
  if (authority === 'system' && mode !== 'verify-full')
    throw new DatabaseError(
      `The database url says sslmode=${mode} and sslrootcert=system, which would trust any server; use verify-full.`,
    );
  const options: ConnectionOptions =
    mode === 'verify-full'
      ? {}
      : authority === undefined
        ? { rejectUnauthorized: false }
        : { checkServerIdentity: () => undefined };
  if (cert !== undefined && key !== undefined)
    readAtEachAccess(options, { cert, key }, (pair) => createSecureContext(pair), log);
  // `system` means Node's own authorities, its default. A file without a certificate would also mean these, so it is
  // checked.
  if (authority !== undefined && authority !== 'system')
    readAtEachAccess(options, { ca: authority }, ({ ca }) => new X509Certificate(ca ?? ''), log);
  return options;
}

type Texts = Partial<Record<'ca' | 'cert' | 'key', string>>;

/**
 * Makes the options read the files at each access, because certificates are renewed. While they cannot be read or fail
 * the check, for example half replaced, the previous content stays in use. Throws DatabaseError if the first read
 * fails.
 */
function readAtEachAccess(
  options: ConnectionOptions,
  files: Texts,
  check: (texts: Texts) => unknown,
  log: DatabaseLog,
): void {
  let used = readAll(files, check);
  let lastReason: string | undefined;
  const now = (): Texts => {
    try {
      used = readAll(files, check);
      lastReason = undefined;
    } catch (error) {
      const reason = messageOf(error);
      if (reason !== lastReason)
        log.warn({ reason }, 'the new certificates for the database cannot be used; the old ones stay in use');
      lastReason = reason;
    }
    return used;
  };
  for (const name of Object.keys(files) as (keyof Texts)[])
    Object.defineProperty(options, name, { get: () => now()[name], enumerable: true, configurable: true });
}

function readAll(files: Texts, check: (texts: Texts) => unknown): Texts {
  const texts: Texts = Object.fromEntries(Object.entries(files).map(([name, file]) => [name, read(file)]));
  try {
    check(texts);
    return texts;
  } catch (error) {
    throw new DatabaseError(
      `${Object.values(files).join(' and ')} cannot be used for the database: not in PEM form, or the key does not belong to the certificate.`,
      { cause: error },
    );
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new DatabaseError(
      `${file}, a certificate or key of the database, cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'}).`,
      { cause: error },
    );
  }
}
