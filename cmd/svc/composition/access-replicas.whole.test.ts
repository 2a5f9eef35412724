import { createHmac, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { newPersonalToken } from '#pkg/identity/index';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';
import { databaseUrlOf, killPrograms, Program, startServe, type Served } from '../start-test-program.ts';

const token = newPersonalToken();
const key = randomBytes(32).toString('hex');
const password = 'Nobody-guesses-this-41';
const userLimit = 400;
const profile = '/api/v1/users/profile/';
const users = '/api/v1/users/users/';
const keys = '/api/v1/authentication/access-keys/';
const auth = '/api/v1/authentication/auth/';
const tokens = '/apis/uc.api.security.svc.run/v1alpha1/personalaccesstokens';
const systemAdmin = '00000000-0000-0000-0000-000000000001';

type Headers = Record<string, string>;
interface Answer {
  status: number;
  json: Record<string, unknown>;
  headers: globalThis.Headers;
}

let home: TestDatabase;
let sql: pg.Client;
let folder: string;
let a: Served;
let b: Served;

/** Two processes with separate data folders, one database and one key. */
beforeAll(async () => {
  home = await createTestDatabase();
  sql = new pg.Client(home.connection);
  await sql.connect();
  folder = await mkdtemp(join(tmpdir(), 'svc-access-replicas-'));
  [a, b] = await Promise.all([start('a', [`--svc.security.key=${key}`]), start('b', [`--svc.security.key=${key}`])]);
});
afterAll(async () => {
  await killPrograms();
  await sql.end();
  await home.drop();
  await rm(folder, { recursive: true, force: true });
});

function start(name: string, more: string[]): Promise<Served> {
  return startServe(join(folder, name), [
    `--svc.database.url=${databaseUrlOf(home)}`,
    `--svc.security.initial-admin-token=${token}`,
    `--svc.security.initial-admin-password=${password}`,
    `--svc.access.throttle.user=${userLimit}`,
    ...more,
  ]);
}

async function send(
  url: string,
  method: string,
  path: string,
  { headers = {}, body }: { headers?: Headers; body?: object } = {},
): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    method,
    redirect: 'manual',
    headers: { 'Content-Type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    json: text.startsWith('{') ? (JSON.parse(text) as Answer['json']) : {},
  };
}

/** Throws on failure. */
async function demand(
  url: string,
  method: string,
  path: string,
  options: { headers?: Headers; body?: object } = {},
): Promise<Answer['json']> {
  const { status, json } = await send(url, method, path, options);
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(json)}`);
  return json;
}

const bearer = (value: string): Headers => ({ Authorization: `Bearer ${value}` });
const logIn = async (url: string, username: string): Promise<Headers> =>
  bearer(String((await demand(url, 'POST', auth, { body: { username, password } }))['token']));

let administrator: Promise<Headers> | undefined;
const asAdministrator = (): Promise<Headers> => (administrator ??= logIn(a.accessUrl, 'admin'));

interface Person {
  id: string;
  username: string;
  /** Headers of a login. */
  bearer: Headers;
}

let count = 0;

/** Creates a user, who may do everything if `isAdministrator`. */
async function addPerson({ isAdministrator = false } = {}): Promise<Person & { bindingId?: string }> {
  const username = `person-${(count += 1)}`;
  const headers = await asAdministrator();
  const { id } = await demand(a.accessUrl, 'POST', users, {
    headers,
    body: { username, name: username, email: `${username}@example.com`, password },
  });
  const person = { id: String(id), username, bearer: await logIn(a.accessUrl, username) };
  if (!isAdministrator) return person;
  const binding = await demand(a.accessUrl, 'POST', '/api/v1/rbac/system-role-bindings/', {
    headers,
    body: { user: id, role: systemAdmin },
  });
  return { ...person, bindingId: String(binding['id']) };
}

/** Runs an operator command to its end. */
async function operate(...args: string[]): Promise<string> {
  const program = new Program([
    ...args,
    `--svc.database.url=${databaseUrlOf(home)}`,
    `--svc.data.dir=${join(folder, 'a')}`,
    `--svc.security.key=${key}`,
  ]);
  expect([await program.exited, program.stderr]).toEqual([0, expect.any(String)]);
  return program.stdout.trim();
}

/** A credential, how to use it, and how to revoke it. */
interface Held {
  /** Status of a request with the credential. */
  use: (replica: Served) => Promise<number>;
  revoke: (replica: Served) => Promise<unknown>;
}

async function session(url: string, username: string): Promise<Headers> {
  const form = await send(url, 'GET', '/login/');
  const formToken = cookieOf(form, 'svc_loginform');
  const answer = await send(url, 'POST', '/login/', {
    headers: { Cookie: `svc_loginform=${formToken}` },
    body: { username, password, csrfmiddlewaretoken: formToken },
  });
  return {
    Cookie: `svc_sessionid=${cookieOf(answer, 'svc_sessionid')}`,
    'X-CSRFToken': cookieOf(answer, 'svc_csrftoken'),
  };
}

function cookieOf({ headers }: Answer, name: string): string {
  const cookie = headers.getSetCookie().find((each) => each.startsWith(`${name}=`));
  return cookie!.slice(name.length + 1).split(';', 1)[0]!;
}

const newKey = (url: string, headers: Headers): Promise<{ id: string; secret: string }> =>
  demand(url, 'POST', keys, { headers, body: {} }) as Promise<never>;

/** GET of the profile, signed by RFC 9421. */
function signed(url: string, { id, secret }: { id: string; secret: string }): Headers {
  const input = `("@method" "@target-uri");created=${Math.floor(Date.now() / 1000)};keyid="${id}"`;
  const base = `"@method": GET\n"@target-uri": ${url}${profile}\n"@signature-params": ${input}`;
  return {
    'Signature-Input': `sig1=${input}`,
    Signature: `sig1=:${createHmac('sha256', secret).update(base).digest('base64')}:`,
  };
}

const statusOf = async (url: string, path: string, headers: Headers): Promise<number> =>
  (await send(url, 'GET', path, { headers })).status;
const onAccess =
  (headers: Headers) =>
  (replica: Served): Promise<number> =>
    statusOf(replica.accessUrl, profile, headers);
const onPlatform =
  (headers: Headers) =>
  (replica: Served): Promise<number> =>
    statusOf(replica.url, tokens, headers);

const newPat = async (url: string, headers: Headers): Promise<{ name: string; value: string }> => {
  const { metadata, status } = await demand(url, 'POST', tokens, { headers, body: { spec: { displayName: 'x' } } });
  return { name: (metadata as { name: string }).name, value: (status as { token: string }).token };
};

const credentials: Record<string, (person: Person) => Promise<Held>> = {
  'personal token': async ({ username }) => {
    const cookie = await session(a.accessUrl, username);
    const headers = { ...cookie, Origin: a.url };
    const { name, value } = await newPat(a.url, headers);
    return {
      use: onPlatform(bearer(value)),
      revoke: ({ url }) =>
        demand(url, 'PUT', `${tokens}/${name}/actions/revocation`, { headers: { ...cookie, Origin: url } }),
    };
  },
  'Bearer token': async (person) => {
    const other = await logIn(a.accessUrl, person.username);
    const body = { old_password: password, new_password: `${password}-2`, new_password_again: `${password}-2` };
    return {
      use: onAccess(other),
      revoke: ({ accessUrl }) => demand(accessUrl, 'PUT', `${profile}password/`, { headers: person.bearer, body }),
    };
  },
  'session, on access management': async (person) => {
    const cookie = await session(a.accessUrl, person.username);
    return { use: onAccess(cookie), revoke: (replica) => endSessions(replica, person) };
  },
  'session, on the content platform': async (person) => {
    const cookie = await session(a.accessUrl, person.username);
    return { use: onPlatform(cookie), revoke: (replica) => endSessions(replica, person) };
  },
  'access key': async (person) => {
    const created = await newKey(a.accessUrl, person.bearer);
    return {
      use: ({ accessUrl }) => statusOf(accessUrl, profile, signed(accessUrl, created)),
      revoke: ({ accessUrl }) => demand(accessUrl, 'DELETE', `${keys}${created.id}/`, { headers: person.bearer }),
    };
  },
  'access key that is switched off': async (person) => {
    const created = await newKey(a.accessUrl, person.bearer);
    return {
      use: ({ accessUrl }) => statusOf(accessUrl, profile, signed(accessUrl, created)),
      revoke: ({ accessUrl }) =>
        demand(accessUrl, 'PATCH', `${keys}${created.id}/`, { headers: person.bearer, body: { is_active: false } }),
    };
  },
  'private token': async ({ username }) => {
    const value = await operate('private-token', 'create', `--user=${username}`);
    return {
      use: onAccess({ Authorization: `Token ${value}` }),
      revoke: () => operate('private-token', 'delete', `--user=${username}`),
    };
  },
};

async function endSessions({ accessUrl }: Served, person: Person): Promise<void> {
  const response = await fetch(`${accessUrl}/api/v1/authentication/sessions/`, { headers: person.bearer });
  for (const { id } of (await response.json()) as { id: string }[])
    await demand(accessUrl, 'DELETE', `/api/v1/authentication/sessions/${id}/`, { headers: person.bearer });
}

describe('what one replica revokes is refused by the other, from the next request on', () => {
  test.each(Object.keys(credentials))('%s', async (name) => {
    const held = await credentials[name]!(await addPerson());
    expect([await held.use(a), await held.use(b)]).toEqual([200, 200]);
    // Other requests use it all the time: their cached lookups must not answer this one.
    const over = new AbortController();
    const hammer = Array.from({ length: 4 }, async () => {
      while (!over.signal.aborted) await held.use(b);
    });
    await held.revoke(a);
    expect(await held.use(b)).toBe(401);
    over.abort();
    await Promise.all(hammer);
    expect([await held.use(a), await held.use(b)]).toEqual([401, 401]);
  });

  test('every credential of a user that is disabled, and again none once the user is not', async () => {
    const person = await addPerson();
    const all = await Promise.all(
      [
        'personal token',
        'Bearer token',
        'session, on access management',
        'session, on the content platform',
        'access key',
      ].map((name) => credentials[name]!(person)),
    );
    const statuses = (): Promise<number[]> => Promise.all(all.map((held) => held.use(b)));
    const change = async (is_active: boolean): Promise<unknown> =>
      demand(a.accessUrl, 'PATCH', `${users}${person.id}/`, { headers: await asAdministrator(), body: { is_active } });
    expect(await statuses()).toEqual([200, 200, 200, 200, 200]);
    await change(false);
    expect(await statuses()).toEqual([401, 401, 401, 401, 401]);
    await change(true);
    // Only asserts that the owner can use a personal token again; the other credentials may have ended.
    expect((await statuses())[0]).toBe(200);
  });

  test('a role', async () => {
    const person = await addPerson({ isAdministrator: true });
    const pat = await newPat(a.url, { ...(await session(a.accessUrl, person.username)), Origin: a.url });
    const asked = async (): Promise<number[]> => [
      await statusOf(b.accessUrl, users, person.bearer),
      await statusOf(b.url, '/apis/rbac.authorization.k8s.io/v1/clusterroles', bearer(pat.value)),
    ];
    expect(await asked()).toEqual([200, 200]);
    await demand(a.accessUrl, 'DELETE', `/api/v1/rbac/system-role-bindings/${person.bindingId}/`, {
      headers: await asAdministrator(),
    });
    expect(await asked()).toEqual([403, 403]);
  });

  test('a watch with a revoked token ends within 5 seconds', async () => {
    const person = await addPerson({ isAdministrator: true });
    const headers = { ...(await session(a.accessUrl, person.username)), Origin: a.url };
    const pat = await newPat(a.url, headers);
    const watch = await fetch(`${b.url}/api/v1/namespaces?watch=true`, { headers: bearer(pat.value) });
    expect(watch.status).toBe(200);
    const ended = watch.text().then(() => performance.now());
    await demand(a.url, 'PUT', `${tokens}/${pat.name}/actions/revocation`, { headers });
    const revokedAt = performance.now();
    expect((await ended) - revokedAt).toBeLessThan(5000);
  });
});

describe('limits are counted over both replicas', () => {
  test('requests of a user', async () => {
    const minute = async (): Promise<string> =>
      String(
        (await sql.query<{ minute: Date }>("SELECT date_trunc('minute', now()) AS minute")).rows[0]!.minute.getTime(),
      );
    let statuses: number[];
    let began: string;
    // Repeats with another user if a minute ended meanwhile, because the new minute has counted some of the requests.
    do {
      const person = await addPerson();
      began = await minute();
      const each = async (replica: Served): Promise<number[]> => {
        const got: number[] = [];
        for (let i = 0; i < userLimit; i += 20)
          got.push(
            ...(await Promise.all(
              Array.from({ length: 20 }, () => statusOf(replica.accessUrl, profile, person.bearer)),
            )),
          );
        return got;
      };
      statuses = (await Promise.all([each(a), each(b)])).flat();
    } while (began !== (await minute()));
    const passed = statuses.filter((status) => status === 200).length;
    expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
    expect(passed).toBeLessThanOrEqual(userLimit);
    expect(passed).toBeGreaterThan(userLimit * 0.8);
  });

  test('failed logins, until an administrator lifts the lock', async () => {
    const { id, username } = await addPerson();
    const attempt = (replica: Served, secret: string): Promise<Answer> =>
      send(replica.accessUrl, 'POST', auth, { body: { username, password: secret } });
    for (let i = 0; i < 7; i += 1)
      expect((await attempt(i % 2 === 0 ? a : b, 'wrong')).json['error']).toBe('password_failed');
    for (const replica of [a, b]) expect((await attempt(replica, password)).json['error']).toBe('block_login');
    await demand(a.accessUrl, 'PUT', `${users}${id}/unblock/`, { headers: await asAdministrator() });
    expect((await attempt(b, password)).status).toBe(201);
  });
});

describe('a killed process leaves nothing half done', () => {
  const file = (): string[] => [`--svc.security.key-file=${join(folder, 'keys')}`];
  let alive: { id: string; secret: string }[] = [];
  let person: Person;

  beforeAll(async () => {
    await killPrograms();
    await writeFile(join(folder, 'keys'), `${key}\n`, { mode: 0o600 });
    [a, b] = await Promise.all([start('a', file()), start('b', file())]);
    person = await addPerson();
  });

  /** As both replicas see them. */
  async function statusesOf(all: readonly { id: string; secret: string }[]): Promise<number[][]> {
    const answers: number[][] = [];
    for (const each of all)
      answers.push([
        await statusOf(a.accessUrl, profile, signed(a.accessUrl, each)),
        await statusOf(b.accessUrl, profile, signed(b.accessUrl, each)),
      ]);
    return answers;
  }

  test('creating and revoking credentials: each takes effect everywhere or nowhere, and is recorded in the audit', async () => {
    for (let round = 0; round < 2; round += 1) {
      const owner = await addPerson();
      const made: { id: string; secret: string; removed: 'no' | 'asked' | 'yes' }[] = [];
      const pats: { name: string; value: string }[] = [];
      const cookie = { ...(await session(b.accessUrl, owner.username)), Origin: a.url };
      const work = async (): Promise<void> => {
        for (;;) {
          const created = {
            ...(await newKey(a.accessUrl, owner.bearer)),
            removed: 'no' as (typeof made)[number]['removed'],
          };
          made.push(created);
          pats.push(await newPat(a.url, cookie));
          if (made.length % 2 === 0) continue;
          created.removed = 'asked';
          await demand(a.accessUrl, 'DELETE', `${keys}${created.id}/`, { headers: owner.bearer });
          created.removed = 'yes';
        }
      };
      let isKilled = false;
      const workers = [work(), work(), work()].map((each) =>
        each.catch((error: unknown) => {
          if (!isKilled) throw error;
        }),
      );
      const ended = Promise.all(workers);
      const enough = 1 + Math.floor(Math.random() * 9);
      while (made.length < enough) await Promise.race([delay(2), ended]);
      isKilled = true;
      a.program.child.kill('SIGKILL');
      await ended;
      a = await start('a', file());
      for (const [i, [first, second]] of (await statusesOf(made)).entries()) {
        const { removed } = made[i]!;
        expect(first).toBe(second);
        if (removed !== 'asked') expect(first).toBe(removed === 'yes' ? 401 : 200);
      }
      for (const { value } of pats)
        expect([await onPlatform(bearer(value))(a), await onPlatform(bearer(value))(b)]).toEqual([200, 200]);
      const { rows } = await sql.query(
        `SELECT k.id FROM access.access_keys k WHERE NOT EXISTS (SELECT 1 FROM access.operate_logs l WHERE l.action = 'create' AND l.resource = k.id::text)
        UNION ALL SELECT t.id FROM access.personal_tokens t WHERE t.user_id = $1 AND NOT EXISTS (SELECT 1 FROM access.operate_logs l WHERE l.action = 'create' AND l.resource = t.name)`,
        [owner.id],
      );
      expect(rows).toEqual([]);
    }
  });

  test('svc rotate-keys, at any moment: every secret opens on both, and the next run completes the work', async () => {
    for (let i = 0; i < 5; i += 1) alive.push(await newKey(a.accessUrl, person.bearer));
    const rotate = (...more: string[]): Program =>
      new Program([
        'rotate-keys',
        ...more,
        ...file(),
        `--svc.database.url=${databaseUrlOf(home)}`,
        `--svc.data.dir=${join(folder, 'a')}`,
      ]);
    const works = async (): Promise<void> => expect(new Set((await statusesOf(alive)).flat())).toEqual(new Set([200]));
    const began = performance.now();
    expect(await rotate().exited).toBe(0);
    const wholeMs = performance.now() - began;
    await works();
    for (let round = 0; round < 3; round += 1) {
      const program = rotate(...(round % 2 === 0 ? ['--drop-old'] : []));
      // Most of the time is spent on its start.
      await Promise.race([delay(wholeMs * (0.6 + Math.random() * 0.4)), program.exited]);
      program.child.kill('SIGKILL');
      await program.exited;
      await works();
      alive = [...alive.slice(1), await newKey(round % 2 === 0 ? a.accessUrl : b.accessUrl, person.bearer)];
    }
    expect(await rotate().exited).toBe(0);
    expect(await rotate('--drop-old').exited).toBe(0);
    await works();
    expect((await sql.query('SELECT 1 FROM access.key_checks')).rowCount).toBe(1);
  });
});
