import { createHmac } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { request as httpRequest, type OutgoingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { Database, migrate } from '#pkg/database/index';
import {
  chain,
  expressHandler,
  HttpServer,
  TrustedProxies,
  withAuthentication,
  withLogging,
  withRequestId,
  withStatus,
} from '#pkg/http/index';
import { createTestDatabase, type TestDatabase } from '../testenv/test-database.ts';
import type { AccessAnswer } from './accesstest/start-access-test.ts';
import { AccessDatabase } from './access-database.ts';
import { AccessServer } from './access-server.ts';
import { AccessService } from './access-service.ts';
import { ensureAdministrator } from './administrator/ensure-administrator.ts';
import { Audit } from './audit/audit.ts';
import { accessMigrations } from './migrations.ts';
import { FormClient } from './pages/pagetest/form-client.ts';
import { PasswordHasher } from './login/password-hasher.ts';
import { PrivateTokens } from './tokens/private-tokens.ts';
import { openKeyRing } from './secrets/open-key-ring.ts';
import { SecretBox } from './secrets/secret-box.ts';

const tokensPath = '/apis/uc.api.security.svc.run/v1alpha1/personalaccesstokens';
const lines: string[] = [];
const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
const proxies = new TrustedProxies([]);
/** Secrets by description. */
const secrets = new Map<string, string>();
/** Answers with an error status, which must hold no secret. */
const refusals: string[] = [];
let home: TestDatabase;
let database: Database;
let access: AccessDatabase;
let service: AccessService;
let accessServer: AccessServer;
let platformServer: HttpServer;
let privateTokens: PrivateTokens;
let folder: string;
let ports: { access: number; platform: number };

beforeAll(async () => {
  home = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'svc-redaction-'));
  database = await Database.connect({ connection: home.connection, log });
  await migrate(database, 'access', accessMigrations);
  access = new AccessDatabase(database);
  const audit = new Audit(access);
  await ensureAdministrator({ database: access, hasher: new PasswordHasher(), audit, dataDir: folder, log });
  const keys = await openKeyRing(access, { dataDir: folder });
  privateTokens = new PrivateTokens({ database: access, box: new SecretBox(keys), audit });
  service = new AccessService({
    database: access,
    log,
    svcVersion: 'test',
    keys,
    proxies,
    settings: {
      tokenTtlMs: 60_000,
      sessionIdleMs: 60_000,
      loginIpLimit: 100,
      maxLogins: 32,
      signatureSkewMs: 300_000,
      signatureRequiresDigest: false,
      throttle: { anonymous: 10_000, user: 10_000 },
      auditRetentionDays: 180,
      publicUrl: undefined,
      allowedOrigins: [],
    },
    platform: {
      namespaces: { ensure: async () => {}, remove: async () => 'removed' },
      roles: { hasRole: () => true, rolesOf: () => ['view'] },
      isNamedByBinding: () => false,
    },
  });
  accessServer = new AccessServer({
    svcVersion: 'test',
    log,
    metrics: new Registry(),
    host: '127.0.0.1',
    port: 0,
    proxies,
  });
  const { port } = await accessServer.listen();
  accessServer.serve(service.parts);
  const authentication = withAuthentication(service.platformAuthenticator({ basic: true, publicUrl: undefined }));
  platformServer = new HttpServer({
    handler: chain(
      [withRequestId(), withLogging(log), withStatus(), authentication],
      expressHandler([service.personalTokenEndpoints.endpoints]),
    ),
    log,
  });
  ports = { access: port, platform: (await platformServer.listen({ host: '127.0.0.1', port: 0 })).port };
});
let stopped: Promise<void> | undefined;
/** Once: a test stops it, too. */
const stopService = (): Promise<void> => (stopped ??= service.stop());

afterAll(async () => {
  await Promise.all([accessServer.stop(), platformServer.close({ drainTimeoutMs: 1000 })]);
  await stopService();
  await database.close();
  await home.drop();
  await rm(folder, { recursive: true });
});

function send(
  port: number,
  method: string,
  path: string,
  { headers = {}, body }: { headers?: OutgoingHttpHeaders; body?: unknown } = {},
): Promise<AccessAnswer> {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        host: '127.0.0.1',
        port,
        method,
        path,
        agent: false,
        headers: { ...(typeof body === 'object' ? { 'Content-Type': 'application/json' } : {}), ...headers },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => void chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const answer = Buffer.concat(chunks).toString('utf8');
          const isJson = response.headers['content-type'] === 'application/json';
          if (response.statusCode! >= 400) refusals.push(answer);
          resolve({
            status: response.statusCode!,
            headers: response.headers,
            text: answer,
            json: isJson && answer !== '' ? JSON.parse(answer) : undefined,
          });
        });
      },
    );
    request.on('error', reject);
    request.end(text);
  });
}

interface Asked {
  authorization?: string;
  headers?: OutgoingHttpHeaders;
  body?: unknown;
}
const toAccess = (method: string, path: string, { authorization, headers, body }: Asked = {}): Promise<AccessAnswer> =>
  send(ports.access, method, path, {
    headers: { ...headers, ...(authorization === undefined ? {} : { authorization }) },
    body,
  });
const toPlatform = (
  method: string,
  path: string,
  { authorization, headers, body }: Asked = {},
): Promise<AccessAnswer> =>
  send(ports.platform, method, path, {
    headers: { ...headers, ...(authorization === undefined ? {} : { authorization }) },
    body,
  });
const keep = (name: string, secret: string): string => {
  secrets.set(name, secret);
  return secret;
};
/** A text of the same form that is no one's secret. */
const changed = (secret: string): string =>
  keep(`a wrong one like ${secret.slice(0, 4)}`, Array.from(secret).toReversed().join(''));
const basicOf = (password: string): string => Buffer.from(`admin:${password}`).toString('base64');
const logIn = (password: string): Promise<AccessAnswer> =>
  toAccess('POST', '/api/v1/authentication/auth/', { body: { username: 'admin', password } });

function signature(keyId: string, secret: string, date: string): OutgoingHttpHeaders {
  const text = `(request-target): get /api/v1/users/profile/\ndate: ${date}`;
  const value = createHmac('sha256', secret).update(text).digest('base64');
  return {
    Date: date,
    Authorization: `Signature keyId="${keyId}",algorithm="hmac-sha256",headers="(request-target) date",signature="${value}"`,
  };
}

test('no secret is in a log, in the audit, in a table, or in a refusal, for any use', async () => {
  const profile = '/api/v1/users/profile/';
  const password = keep(
    'the initial password',
    (await readFile(join(folder, 'initial-admin-password'), 'utf8')).trim(),
  );
  const first = keep('the first personal token', (await readFile(join(folder, 'admin-token'), 'utf8')).trim());
  keep('the key', (await readFile(join(folder, 'secret-key'), 'utf8')).trim());

  // A Bearer token.
  const bearer = keep('a Bearer token', ((await logIn(password)).json as { token: string }).token);
  expect((await toAccess('GET', profile, { authorization: `Bearer ${bearer}` })).status).toBe(200);
  expect((await logIn(keep('a wrong password', 'wrong horse battery'))).status).toBe(400);
  for (const authorization of [
    `Bearer ${changed(bearer)}`,
    `Token ${bearer}`,
    `Bearer ${bearer} ${bearer}`,
    bearer,
    `Basic ${keep('Basic of it', basicOf(bearer))}`,
  ]) {
    expect((await toAccess('GET', `${profile}?token=${bearer}`, { authorization })).status).toBe(401);
  }
  expect(
    (
      await toAccess('POST', '/api/v1/authentication/auth/', {
        headers: { 'Content-Type': 'application/json' },
        body: `{"username":"admin","password":"${password}`,
      })
    ).status,
  ).toBe(400);
  expect((await toAccess('POST', '/api/v1/authentication/auth/', { body: { username: ['x'], password } })).status).toBe(
    400,
  );

  // A session.
  const browser = new FormClient({
    send: (method, path, { headers = {}, body } = {}) => send(ports.access, method, path, { headers, body }),
  });
  expect((await browser.logIn('admin', 'wrong horse battery')).status).toBe(400);
  expect((await browser.logIn('admin', password)).status).toBe(303);
  const session = keep('a session', browser.cookies.get('svc_sessionid')!);
  const csrf = keep('its CSRF token', browser.cookies.get('svc_csrftoken')!);
  const cookie = `svc_sessionid=${session}`;
  expect(
    (await toAccess('PATCH', profile, { headers: { cookie, 'X-CSRFToken': csrf }, body: { comment: 'here' } })).status,
  ).toBe(200);
  expect(
    (await toAccess('PATCH', profile, { headers: { cookie, 'X-CSRFToken': changed(csrf) }, body: {} })).status,
  ).toBe(403);
  expect((await toAccess('GET', profile, { headers: { cookie: `svc_sessionid=${changed(session)}` } })).status).toBe(
    401,
  );
  expect(
    (
      await toPlatform('POST', tokensPath, {
        headers: { cookie, 'X-CSRFToken': csrf, Origin: 'http://elsewhere.example' },
        body: {},
      })
    ).status,
  ).toBe(403);

  // An access key.
  const key = (
    await toAccess('POST', '/api/v1/authentication/access-keys/', { authorization: `Bearer ${bearer}`, body: {} })
  ).json as { id: string; secret: string };
  keep('the secret of an access key', key.secret);
  const now = new Date().toUTCString();
  expect((await toAccess('GET', profile, { headers: signature(key.id, key.secret, now) })).status).toBe(200);
  for (const headers of [
    signature(key.id, changed(key.secret), now),
    signature(key.id, key.secret, 'Thu, 01 Jan 1970 00:00:00 GMT'),
    signature(key.secret, key.secret, now),
  ]) {
    expect((await toAccess('GET', profile, { headers })).status).toBe(401);
  }

  // A private token.
  const privateToken = keep('a private token', await privateTokens.create('admin'));
  expect((await toAccess('GET', profile, { authorization: `Token ${privateToken}` })).status).toBe(200);
  for (const authorization of [`Token ${changed(privateToken)}`, `Bearer ${privateToken}`])
    expect((await toAccess('GET', profile, { authorization })).status).toBe(401);

  // Personal tokens.
  const made = (
    await toPlatform('POST', tokensPath, { authorization: `Bearer ${first}`, body: { metadata: { name: 'ci' } } })
  ).json as { status: { token: string } };
  const token = keep('a personal token', made.status.token);
  expect((await toPlatform('GET', tokensPath, { authorization: `Bearer ${token}` })).status).toBe(200);
  expect(
    (await toPlatform('PUT', `${tokensPath}/ci/actions/revocation`, { authorization: `Bearer ${first}` })).status,
  ).toBe(200);
  for (const authorization of [
    `Bearer ${token}`,
    `Bearer ${changed(token)}`,
    `Token ${first}`,
    `Basic ${keep('Basic of a token', basicOf(first))}`,
  ]) {
    expect((await toPlatform('GET', `${tokensPath}?access_token=${first}`, { authorization })).status).toBe(401);
  }
  expect(
    (await toPlatform('POST', tokensPath, { authorization: `Bearer ${first}`, body: { metadata: { name: first } } }))
      .status,
  ).toBe(422);
  expect((await toAccess('GET', profile, { authorization: `Bearer ${first}` })).status).toBe(401);

  // Passwords.
  expect(
    (await toPlatform('GET', tokensPath, { authorization: `Basic ${keep('Basic', basicOf(password))}` })).status,
  ).toBe(200);
  expect(
    (
      await toPlatform('GET', tokensPath, {
        authorization: `Basic ${keep('wrong Basic', basicOf('another wrong one'))}`,
      })
    ).status,
  ).toBe(401);
  const other = keep('a new password', 'fresh horse battery');
  const change = (old: string, fresh: string): Promise<AccessAnswer> =>
    toAccess('PUT', `${profile}password/`, {
      authorization: `Token ${privateToken}`,
      body: { old_password: old, new_password: fresh, new_password_again: fresh },
    });
  expect((await change(keep('a wrong old password', 'stale horse battery'), other)).status).toBe(400);
  expect((await change(password, keep('a password that is too short', 'sh0rt!x'))).status).toBe(400);
  expect((await change(password, other)).status).toBe(200);

  await stopService();
  await searchSecrets();
});

async function searchSecrets(): Promise<void> {
  const tables = (
    await database.pool.query<{ name: string }>(
      "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'access' AND table_type = 'BASE TABLE'",
    )
  ).rows;
  const places = new Map([
    ['the log', lines.join('')],
    ['the refusals', refusals.join('\n')],
  ]);
  for (const { name } of tables) {
    const { rows } = await database.pool.query<{ row: string }>(`SELECT t::text AS row FROM access.${name} t`);
    places.set(`the table ${name}`, rows.map(({ row }) => row).join('\n'));
  }
  expect(secrets.size).toBeGreaterThan(20);
  expect([...places.values()].map(({ length }) => length).filter((length) => length > 0).length).toBeGreaterThan(10);
  const found: string[] = [];
  for (const [what, secret] of secrets) {
    for (const form of [
      secret,
      encodeURIComponent(secret),
      Buffer.from(secret).toString('hex'),
      Buffer.from(secret).toString('base64').replaceAll('=', ''),
    ]) {
      for (const [where, text] of places) if (text.includes(form)) found.push(`${what} in ${where}`);
    }
  }
  expect(found).toEqual([]);
  for (const where of ['the log', 'the refusals', 'the table operate_logs', 'the table login_logs'])
    expect(places.get(where)).not.toContain('$argon2');
}
