import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  open as openFile,
  readdir,
  rm,
  stat,
  writeFile,
  type FileHandle,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Database } from '../database.ts';
import { listMajors } from '../embedded/cluster.ts';
import { EmbeddedPostgres } from '../embedded/embedded-postgres.ts';
import { findBinaries } from '../embedded/postgres-binaries.ts';
import { spawnPostmaster, type Postmaster } from '../embedded/postmaster.ts';
import { silentLog } from '../log.ts';
import {
  authority,
  clientCertificate,
  clientKey,
  nextAuthority,
  nextServerCertificate,
  otherAuthority,
  serverCertificate,
  serverKey,
} from './test-certificates.ts';

/** Used by this test only: PostgreSQL's port is the same everywhere. */
const address = '127.0.61.7';
/** The same server, by an address that is not in its certificate. */
const otherAddress = '127.0.61.8';
let folder: string;
let server: Postmaster;
let logFile: FileHandle;
const file = (name: string): string => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-database-tls-'));
  await chmod(folder, 0o755);
  await writeFile(
    file('pg_hba.conf'),
    'local all all trust\nhostssl all certified all cert\nhostssl all all all trust\n',
    { mode: 0o644 },
  );
  const texts = {
    'ca.crt': authority,
    'other.crt': otherAuthority,
    'server.crt': serverCertificate,
    'server.key': serverKey,
    'client.crt': clientCertificate,
    'client.key': clientKey,
  };
  for (const [name, text] of Object.entries(texts)) await writeFile(file(name), text, { mode: 0o600 });
  const dataDir = join(folder, 'data');
  await (await EmbeddedPostgres.start({ dataDir, log: silentLog, settings: { fsync: 'off' } })).stop();
  const pgdata = join(
    dataDir,
    (await readdir(dataDir)).find((name) => name.startsWith('pgdata-'))!,
  );
  const { uid, gid } = await stat(pgdata);
  const account = process.getuid?.() === 0 ? { uid, gid } : undefined;
  for (const name of ['server.crt', 'server.key', 'ca.crt']) await chown(file(name), uid, gid);
  const { postgres } = await findBinaries({
    account,
    home: dataDir,
    majors: await listMajors(dataDir),
    log: silentLog,
  });
  const socketDirectory = join(pgdata, 'sockets');
  await mkdir(socketDirectory);
  await chown(socketDirectory, uid, gid);
  logFile = await openFile(file('postgres.log'), 'a');
  const settings = {
    listen_addresses: `${address},${otherAddress}`,
    unix_socket_directories: socketDirectory,
    hba_file: file('pg_hba.conf'),
    fsync: 'off',
    ssl: 'on',
    ssl_cert_file: file('server.crt'),
    ssl_key_file: file('server.key'),
    ssl_ca_file: file('ca.crt'),
  };
  server = await spawnPostmaster({ postgres, pgdata, socketDirectory, account, settings, logFile: logFile.fd });
  await until(async () => (await open('?sslmode=require')).close());
  const operator = await open('?sslmode=require');
  await operator.pool.query('CREATE ROLE certified LOGIN');
  await operator.close();
});
afterAll(async () => {
  await server.stop();
  await logFile.close();
  await rm(folder, { recursive: true, force: true });
});

/** Retries until it does not throw. */
async function until(works: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await works();
      return;
    } catch {
      await delay(50);
    }
  }
}

const open = (query: string, caFile?: string): Promise<Database> =>
  Database.connect({
    url: `postgres://svc@${address}:5432/postgres${query}`,
    log: silentLog,
    connectionTimeoutMs: 5000,
    ...(caFile === undefined ? {} : { caFile }),
  });

/** Whether each opened connection uses TLS. */
async function isEncrypted(database: Database): Promise<boolean[]> {
  const ask = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()';
  const client = await database.newClient();
  const pool = database.newPool({ max: 1 });
  const answers = await Promise.all(
    [database.pool, client, pool].map(async (asked) => (await asked.query<{ ssl: boolean }>(ask)).rows[0]!.ssl),
  );
  await client.end();
  await database.close();
  return answers;
}

describe('a connection to PostgreSQL is encrypted', () => {
  test.each([
    ['with any server', () => '?sslmode=require', false],
    [
      'if the server has a certificate of the authority',
      () => `?sslmode=verify-ca&sslrootcert=${file('ca.crt')}`,
      false,
    ],
    ['if the server has a certificate for its name', () => `?sslmode=verify-full&sslrootcert=${file('ca.crt')}`, false],
    ['if the URL names an authority', () => `?sslrootcert=${file('ca.crt')}`, false],
    ['if the option names an authority', () => '', true],
    ['with other parameters of the URL', () => '?options=-c%20search_path%3Dpublic&sslmode=require', false],
  ])('%s', async (_reason, query, byOption) => {
    const database = await open(query(), byOption ? file('ca.crt') : undefined);
    expect(await isEncrypted(database)).toEqual([true, true, true]);
  });

  test('with a client certificate, if the server asks for one', async () => {
    const to = (more: string): Promise<Database> =>
      Database.connect({
        url: `postgres://certified@${address}:5432/postgres?sslrootcert=${file('ca.crt')}${more}`,
        log: silentLog,
      });
    await (await to(`&sslcert=${file('client.crt')}&sslkey=${file('client.key')}`)).close();
    await expect(to('')).rejects.toThrow(/valid client certificate/);
  });
});

describe('a connection to PostgreSQL uses the current files', () => {
  /** Replaces the server's certificate. */
  async function serve(certificate: string): Promise<void> {
    await writeFile(file('server.crt'), certificate);
    const operator = await open('?sslmode=require');
    await operator.pool.query('SELECT pg_reload_conf()');
    await operator.close();
  }
  const connects = async (database: Database): Promise<void> => (await database.newClient()).end();

  test('if the authority of the server changes', async () => {
    await writeFile(file('mounted.crt'), authority);
    const database = await open(`?sslrootcert=${file('mounted.crt')}`);
    await serve(nextServerCertificate);
    // Waits until the server has read its certificate.
    await until(async () => expect(connects(database)).rejects.toThrow(/certificate/));
    await writeFile(file('mounted.crt'), authority + nextAuthority);
    await connects(database);
    await serve(serverCertificate);
    await until(async () =>
      expect(open(`?sslrootcert=${file('ca.crt')}`).then((other) => other.close())).resolves.toBeUndefined(),
    );
    await connects(database);
    expect((await database.newPool({ max: 1 }).query('SELECT 1')).rowCount).toBe(1);
    await database.close();
  });

  test('or the previous files while the current ones cannot be used, with one warning', async () => {
    const warnings: string[] = [];
    for (const name of ['ca', 'client'] as const)
      await writeFile(file(`mounted.${name}`), name === 'ca' ? authority : clientCertificate);
    await writeFile(file('mounted.key'), clientKey);
    const database = await Database.connect({
      url: `postgres://certified@${address}:5432/postgres?sslrootcert=${file('mounted.ca')}&sslcert=${file('mounted.client')}&sslkey=${file('mounted.key')}`,
      log: { ...silentLog, warn: (details) => void warnings.push(JSON.stringify(details)) },
    });
    await writeFile(file('mounted.key'), serverKey);
    await writeFile(file('mounted.ca'), '');
    await connects(database);
    await connects(database);
    expect(warnings).toEqual([
      expect.stringMatching(/mounted\.client and .*mounted\.key cannot be used/),
      expect.stringMatching(/mounted\.ca cannot be used/),
    ]);
    await rm(file('mounted.ca'));
    await connects(database);
    expect(warnings.slice(2)).toEqual([expect.stringMatching(/mounted\.ca.*ENOENT/)]);
    // A valid pair, but of a user that the server refuses.
    await writeFile(file('mounted.client'), serverCertificate);
    await expect(connects(database)).rejects.toThrow();
    await database.close();
  });
});

describe('a connection to PostgreSQL is refused', () => {
  test.each([
    [
      'if the server has a certificate of another authority',
      () => `?sslmode=verify-ca&sslrootcert=${file('other.crt')}`,
      /self-signed|unable to (verify|get)/,
    ],
    ['without TLS, if the server requires it', () => '?sslmode=disable', /no encryption/],
  ])('%s', async (_reason, query, says) => {
    await expect(open(query())).rejects.toThrow(says);
  });

  test("if the server's certificate is for another name", async () => {
    const to = (query: string): Promise<Database> =>
      Database.connect({
        url: `postgres://svc@${otherAddress}:5432/postgres?sslrootcert=${file('ca.crt')}${query}`,
        log: silentLog,
      });
    await expect(to('')).rejects.toThrow(/does not match certificate/);
    await (await to('&sslmode=verify-ca')).close();
  });

  test.each([
    [
      'prefer, which protects nothing',
      '?sslmode=prefer',
      /sslmode that is not one of disable, require, verify-ca, verify-full/,
    ],
    ['an unknown mode', '?sslmode=VERIFY', /not one of/],
    ['verify-ca without an authority', '?sslmode=verify-ca', /needs an authority/],
    ['public authorities without a check of the name', '?sslmode=require&sslrootcert=system', /would trust any server/],
    ['another parameter of node-postgres', '?sslmode=verify-full&ssl=0', /has ssl, which is not supported/],
    ['a parameter in other case', '?SSLMode=verify-full', /has SSLMode, which/],
    ['a duplicate mode', '?sslmode=require&sslmode=disable', /each at most once/],
    ['another security parameter', '?sslmode=require&channel_binding=require', /has channel_binding/],
    ['a mode after a second question mark', '?x=?&sslmode=prefer', /not one of/],
    ['a host beside a target', '?target_session_attrs=primary&host=/run', /and the parameter host; write/],
    ['several ports in a parameter', '?port=1,2', /and the parameter port; write/],
    ['certificates without TLS', '?sslmode=disable&sslrootcert=/x', /nothing checks them/],
    ['a certificate without its key', '?sslmode=require&sslcert=/x', /belong together/],
    ['a missing file', '?sslrootcert=/nowhere/ca.crt', /^\/nowhere\/ca\.crt.*ENOENT/],
    ['an empty file of authorities', '?sslrootcert=/dev/null', /^\/dev\/null cannot be used/],
  ])('for %s, before anything is sent', async (_reason, query, says) => {
    await expect(open(query)).rejects.toThrow(says);
  });

  test.each(['p@ss/word', 'p@ss?word', 'p@ss#word', 'p@ss/w@rd', '1,p/ass'])(
    'for a password that is not encoded (%s), without repeating it',
    async (password) => {
      const refused = Database.connect({ url: `postgres://svc:${password}@127.0.0.1:1/svc`, log: silentLog });
      await expect(refused).rejects.toThrow(
        /^The database url has an @ in the wrong place; in user and password write %40 for @/,
      );
      await expect(refused).rejects.not.toThrow(/p@ss|p.ass|127/);
    },
  );

  test('the URL cannot change the application_name of svc servers', async () => {
    const database = await open('?sslmode=require&application_name=shop');
    expect(
      (await database.pool.query<{ name: string }>("SELECT current_setting('application_name') AS name")).rows[0]!.name,
    ).toMatch(/^svc main \d+@/);
    await database.close();
  });

  test('for two authorities', async () => {
    await expect(open('?sslrootcert=/x', '/y')).rejects.toThrow(/remove one/);
  });
});
