import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { AccessAnswer, AccessReplica } from '../accesstest/start-access-test.ts';
import { jsonAnswer, type Operation } from '../operations/operation.ts';
import { signDraft, signMessage, type DraftOptions, type MessageOptions } from './keytest/sign.ts';
import { startKeyTest, type KeyTest, type TestKey } from './keytest/start-key-test.ts';

const path = '/api/v1/who/';
const body = '{"a":1}';
const absent = '0a0b0c0d-0000-4000-8000-00000000beef';
const who: Operation[] = (['GET', 'POST'] as const).map((method) => ({
  method,
  path,
  operationId: `who${method}`,
  access: 'user',
  handle: async ({ caller }) => jsonAnswer(200, { id: caller.id, scheme: caller.scheme }),
}));

let server: KeyTest;
let key: TestKey;
beforeAll(async () => {
  server = await startKeyTest({ operations: who, trustedProxies: ['127.0.0.1'] });
});
beforeEach(async () => {
  await server.access.pool.query('TRUNCATE access.access_keys, access.operate_logs, access.signature_uses');
  key = await server.addKey();
});
afterAll(() => server.stop());

interface Sent extends Partial<DraftOptions> {
  at?: AccessReplica;
  method?: string;
  /** Milliseconds from now. */
  dateIn?: number;
  headers?: Record<string, string>;
  body?: string;
  /** The target to send, if not the signed one. */
  target?: string;
}

function send({
  at = server,
  method = 'GET',
  dateIn = 0,
  headers = {},
  body: sentBody,
  target = path,
  ...options
}: Sent = {}): Promise<AccessAnswer> {
  const sent = { Accept: 'application/json', Date: new Date(Date.now() + dateIn).toUTCString(), ...headers };
  const authorization = signDraft(
    { method, target: path, headers: sent },
    { ...key, algorithm: 'hmac-sha256', ...options },
  );
  return at.send(method, target, { headers: { ...sent, Authorization: authorization }, body: sentBody });
}

function sendMessage(
  options: Partial<MessageOptions> = {},
  headers: Record<string, string> = {},
): Promise<AccessAnswer> {
  const request = { method: 'GET', target: path, headers };
  return server.send('GET', path, {
    headers: {
      ...headers,
      ...signMessage(request, { ...key, origin: server.url, created: Math.floor(Date.now() / 1000), ...options }),
    },
  });
}

const good = (): { status: number; json: unknown } => ({
  status: 200,
  json: { id: server.userId, scheme: 'signature' },
});
const refusal = {
  status: 401,
  text: '{"detail":"The credential is not valid.","code":"authentication_failed"}',
  headers: expect.objectContaining({
    'www-authenticate': 'Signature realm="api",headers="(request-target) date", Bearer realm="api"',
  }),
};

async function audited(): Promise<string[]> {
  const { rows } = await server.access.pool.query<{ text: string }>(
    "SELECT concat_ws(' ', username, user_id, action, resource_type, resource, detail) AS text FROM access.operate_logs WHERE action = 'failed_use' ORDER BY id",
  );
  return rows.map(({ text }) => text.trim());
}

const lastUsed = async (): Promise<Date | null> =>
  (
    await server.access.pool.query<{ date_last_used: Date | null }>(
      'SELECT date_last_used FROM access.access_keys WHERE id = $1',
      [key.keyId],
    )
  ).rows[0]!.date_last_used;

describe('a signed request', () => {
  test('acts as the owner of its key, on every replica, by either standard and by both together', async () => {
    const replica = await server.startReplica();
    expect(await send()).toMatchObject(good());
    expect(await send({ at: replica, target: path })).toMatchObject(good());
    expect(await sendMessage()).toMatchObject(good());
    const signed = signMessage(
      { method: 'GET', target: path, headers: {} },
      { ...key, origin: server.url, created: Math.floor(Date.now() / 1000) },
    );
    expect(await send({ headers: { ...signed } })).toMatchObject(good());
    expect(await audited()).toEqual([]);
  });

  test('is ignored next to another credential if it names no access key, like the signature of a proxy', async () => {
    const ofProxy = signMessage(
      { method: 'GET', target: path, headers: {} },
      { ...key, keyId: 'proxy-1', origin: server.url, created: Math.floor(Date.now() / 1000) },
    );
    expect(await send({ headers: { ...ofProxy } })).toMatchObject(good());
    expect(await server.send('GET', path, { as: server.userId, headers: { ...ofProxy } })).toMatchObject({
      status: 200,
      json: { scheme: 'bearer' },
    });
    expect(await server.send('GET', path, { headers: { ...ofProxy } })).toMatchObject(refusal);
  });

  test('may have a tab after the scheme, and is refused if it cannot be parsed', async () => {
    expect(await server.send('GET', path, { headers: { Authorization: 'Signature\tx' } })).toMatchObject(refusal);
  });

  test('is refused if a second credential belongs to another user', async () => {
    const noah = await server.addUser({ username: 'noah' });
    await server.access.pool.query('UPDATE access.access_keys SET user_id = $1', [noah]);
    const signed = signMessage(
      { method: 'GET', target: path, headers: {} },
      { ...key, origin: server.url, created: Math.floor(Date.now() / 1000) },
    );
    const other = await server.addKey();
    expect(await send({ ...other, headers: { ...signed } })).toMatchObject(refusal);
    expect(await server.send('GET', path, { as: server.userId, headers: { ...signed } })).toMatchObject(refusal);
  });

  test('is refused if any signed part differs', async () => {
    expect(await send({ target: '/api/v1/who' })).toMatchObject(refusal);
    expect(await send({ target: `${path}?` })).toMatchObject(refusal);
    expect(await send({ secret: `${key.secret}x` })).toMatchObject(refusal);
    expect(await send({ keyId: absent })).toMatchObject(refusal);
    expect(await sendMessage({ origin: 'http://example.com' })).toMatchObject(refusal);
    expect(await sendMessage({ secret: 'x' })).toMatchObject(refusal);
    expect(await audited()).toEqual([
      `failed_use access_key ${key.keyId} wrong signature`,
      `failed_use access_key ${key.keyId} wrong signature`,
      `failed_use access_key ${key.keyId} wrong signature`,
      `failed_use access_key ${absent} there is no such key`,
      `failed_use access_key ${key.keyId} wrong signature`,
      `failed_use access_key ${key.keyId} wrong signature`,
    ]);
    expect(await lastUsed()).toBeNull();
  });

  test('is valid for five minutes before and after its time, by the draft and by RFC 9421', async () => {
    for (const dateIn of [-290_000, 290_000]) expect(await send({ dateIn })).toMatchObject(good());
    for (const dateIn of [-310_000, 310_000]) expect(await send({ dateIn })).toMatchObject(refusal);
    const now = Math.floor(Date.now() / 1000);
    for (const created of [now - 290, now + 290]) expect(await sendMessage({ created })).toMatchObject(good());
    for (const created of [now - 310, now + 310, 0, 999_999_999_999_999])
      expect(await sendMessage({ created })).toMatchObject(refusal);
    expect(await sendMessage({ more: `;expires=${now + 100}` })).toMatchObject(good());
    expect(await sendMessage({ more: `;expires=${now - 1}` })).toMatchObject(refusal);
    expect([...new Set(await audited())]).toEqual([`failed_use access_key ${key.keyId} its date is too far from now`]);
  });

  test('requires an active key and an active owner', async () => {
    await server.access.pool.query('UPDATE access.access_keys SET is_active = false');
    expect(await send()).toMatchObject(refusal);
    await server.access.pool.query('UPDATE access.access_keys SET is_active = true');
    await server.access.pool.query("UPDATE access.users SET date_expired = now() - interval '1 second' WHERE id = $1", [
      server.userId,
    ]);
    expect(await send()).toMatchObject(refusal);
    await server.access.pool.query('UPDATE access.users SET date_expired = NULL WHERE id = $1', [server.userId]);
    expect(await send()).toMatchObject(good());
    await server.access.pool.query('DELETE FROM access.access_keys');
    expect(await send()).toMatchObject(refusal);
    expect(await audited()).toEqual([
      `failed_use access_key ${key.keyId} the key is disabled`,
      `failed_use access_key ${key.keyId} there is no such key`,
    ]);
  });

  test('must come from an address of its key, which is checked last', async () => {
    key = await server.addKey({ ipGroup: ['203.0.113.0/24'] });
    expect(await send({ headers: { 'X-Forwarded-For': '203.0.113.9' } })).toMatchObject(good());
    expect(await send({ headers: { 'X-Forwarded-For': '198.51.100.1' } })).toMatchObject(refusal);
    expect(await send({ headers: { 'X-Forwarded-For': '198.51.100.1' }, secret: 'x' })).toMatchObject(refusal);
    expect(await audited()).toEqual([
      `failed_use access_key ${key.keyId} address not allowed`,
      `failed_use access_key ${key.keyId} wrong signature`,
    ]);
  });

  test('records the use of its key at most once a minute', async () => {
    expect(await send({ secret: 'x' })).toMatchObject(refusal);
    expect(await lastUsed()).toBeNull();
    await Promise.all(Array.from({ length: 8 }, () => send()));
    const first = await lastUsed();
    expect(first!.getTime()).toBeGreaterThan(Date.now() - 60_000);
    await send();
    expect(await lastUsed()).toEqual(first);
    await server.access.pool.query("UPDATE access.access_keys SET date_last_used = now() - interval '61 seconds'");
    await send();
    expect((await lastUsed())!.getTime()).toBeGreaterThanOrEqual(first!.getTime());
  });

  test('fails like an unknown key if the secret cannot be opened', async () => {
    await server.access.pool.query(
      `UPDATE access.access_keys
       SET secret = set_byte(secret, octet_length(secret) - 1, get_byte(secret, octet_length(secret) - 1) # 1)`,
    );
    expect(await send()).toMatchObject(refusal);
    expect(server.logs).toContainEqual(
      expect.objectContaining({
        msg: 'could not open the sealed secret of an access key; check that all keys are in svc.security.key or the key file',
        accessKey: key.keyId,
      }),
    );
  });
});

describe('a signed digest', () => {
  const names = ['(request-target)', 'date', 'digest'];
  const digestOf = (text: string): string => `SHA-256=${createHash('sha256').update(text).digest('base64')}`;

  test('must match the body', async () => {
    expect(await send({ method: 'POST', names, headers: { Digest: digestOf(body) }, body })).toMatchObject(good());
    expect(
      await send({ method: 'POST', names, headers: { Digest: digestOf(body) }, body: '{"a":2}', dateIn: 1000 }),
    ).toMatchObject(refusal);
    expect(
      await send({
        method: 'POST',
        names,
        headers: { Digest: `${digestOf(body)},SHA-512=${Buffer.alloc(64).toString('base64')}` },
        body,
        dateIn: 2000,
      }),
    ).toMatchObject(refusal);
    expect(await send({ names, headers: { Digest: digestOf('') }, dateIn: 3000 })).toMatchObject(good());
    expect([...new Set(await audited())]).toEqual([`failed_use access_key ${key.keyId} the digest is not of the body`]);
  });

  test('is accepted once, on any replica, also concurrently', async () => {
    const replica = await server.startReplica();
    const headers = { Digest: digestOf(body), Date: new Date().toUTCString() };
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        send({ at: i % 2 === 0 ? server : replica, method: 'POST', names, headers, body }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 200)) expect(answer).toMatchObject(refusal);
    // The same signature with a key id in upper case.
    expect(await send({ method: 'POST', names, headers, body, keyId: key.keyId.toUpperCase() })).toMatchObject(refusal);
    expect([...new Set(await audited())]).toEqual([`failed_use access_key ${key.keyId} it was used before`]);
  });

  test('is forgotten after a time, and not recorded for an invalid signature', async () => {
    await server.access.pool.query(
      "INSERT INTO access.signature_uses SELECT sha256(i::text::bytea), now() - interval '1 second' FROM generate_series(1, 25) i",
    );
    const count = async (): Promise<number> =>
      (await server.access.pool.query('SELECT 1 FROM access.signature_uses')).rows.length;
    expect(await send({ method: 'POST', names, headers: { Digest: digestOf(body) }, body, secret: 'x' })).toMatchObject(
      refusal,
    );
    expect(await count()).toBe(25);
    for (const left of [16, 7, 3]) {
      expect(
        await send({ method: 'POST', names, headers: { Digest: digestOf(body) }, body, dateIn: (20 - left) * 1000 }),
      ).toMatchObject(good());
      expect(await count()).toBe(left);
    }
  });

  test('without a digest two calls in one second are two calls; with a nonce they are one', async () => {
    const headers = { Date: new Date().toUTCString() };
    for (let i = 0; i < 3; i += 1) expect(await send({ headers })).toMatchObject(good());
    const options = { created: Math.floor(Date.now() / 1000), more: ';nonce="n1"' };
    expect(await sendMessage(options)).toMatchObject(good());
    expect(await sendMessage(options)).toMatchObject(refusal);
  });
});

describe('if writes must sign a digest', () => {
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
  const operations: Operation[] = methods.map((method) => ({ ...who[0]!, method, operationId: `strict${method}` }));
  const digest = (name: 'Digest' | 'Content-Digest', text: string): Record<string, string> => {
    const value = createHash('sha256').update(text).digest('base64');
    return name === 'Digest' ? { Digest: `SHA-256=${value}` } : { 'Content-Digest': `sha-256=:${value}:` };
  };
  let strict: KeyTest;
  let strictKey: TestKey;
  beforeAll(async () => {
    strict = await startKeyTest({ operations, requiresDigest: true });
    strictKey = await strict.addKey();
  });
  afterAll(() => strict.stop());

  /** Signs by the draft, or by RFC 9421 (`components`). */
  const sendStrict = (
    method: string,
    {
      headers = {},
      body: sent,
      names,
      components,
    }: { headers?: Record<string, string>; body?: string; names?: string[]; components?: string[] },
  ): Promise<AccessAnswer> => {
    // Node's client does not send it for DELETE by default.
    const length: Record<string, string> = sent === undefined ? {} : { 'Content-Length': String(sent.length) };
    if (components === undefined)
      return send({
        at: strict,
        ...strictKey,
        method,
        headers: { ...headers, ...length },
        ...(sent === undefined ? {} : { body: sent }),
        ...(names === undefined ? {} : { names }),
      });
    const signed = signMessage(
      { method, target: path, headers },
      { ...strictKey, origin: strict.url, created: Math.floor(Date.now() / 1000), components },
    );
    return strict.send(method, path, { headers: { ...headers, ...length, ...signed }, body: sent });
  };
  const details = async (): Promise<string[]> =>
    (
      await strict.access.pool.query<{ detail: string }>(
        "DELETE FROM access.operate_logs WHERE action = 'failed_use' RETURNING detail",
      )
    ).rows.map(({ detail }) => detail);

  test.each(methods.slice(1))(
    '%s without a digest gets the usual 401, by either standard, with a body and without, and the audit gives the reason',
    async (method) => {
      const unsigned = digest('Digest', body);
      expect(await sendStrict(method, { body })).toMatchObject(refusal);
      expect(await sendStrict(method, {})).toMatchObject(refusal);
      // The digest is sent but not signed.
      expect(await sendStrict(method, { headers: unsigned, body })).toMatchObject(refusal);
      expect(await sendStrict(method, { components: ['@method', '@target-uri'], body })).toMatchObject(refusal);
      expect(
        await sendStrict(method, {
          components: ['@method', '@path', '@query'],
          headers: digest('Content-Digest', body),
          body,
        }),
      ).toMatchObject(refusal);
      expect(await details()).toEqual(Array.from({ length: 5 }, () => 'no digest of its body is signed'));
    },
  );

  test.each(methods.slice(1))('%s with a digest passes, with an empty body and with another', async (method) => {
    const names = ['(request-target)', 'date', 'digest'];
    for (const sent of [body, '']) {
      const signed = { status: 200, json: { id: strict.userId } };
      expect(await sendStrict(method, { names, headers: digest('Digest', sent), body: sent })).toMatchObject(signed);
      expect(
        await sendStrict(method, {
          components: ['@method', '@target-uri', 'content-digest'],
          headers: digest('Content-Digest', sent),
          body: sent,
        }),
      ).toMatchObject(signed);
    }
    expect(await details()).toEqual([]);
  });

  test('a read needs no digest, with the header list of the reference', async () => {
    expect(await sendStrict('GET', {})).toMatchObject({ status: 200 });
    expect(await sendStrict('HEAD', {})).toMatchObject({ status: 200 });
  });

  test('a wrong signature and a missing digest get the same response and differ only in the audit', async () => {
    expect(await send({ at: strict, ...strictKey, method: 'POST', secret: 'x', body })).toMatchObject(refusal);
    expect(await details()).toEqual(['wrong signature']);
  });
});

test('by default the header list of the reference passes for every method', async () => {
  for (const method of ['GET', 'POST'])
    expect(await send({ method, ...(method === 'POST' ? { body } : {}) })).toMatchObject(good());
});

test('with the window off any date is accepted, and a digest is still accepted once', async () => {
  const open = await startKeyTest({ operations: who, maxSkewMs: 0 });
  try {
    const ofOpen = await open.addKey();
    const old = {
      Date: 'Mon, 17 Feb 2014 06:11:05 GMT',
      Digest: `SHA-256=${createHash('sha256').update('').digest('base64')}`,
    };
    for (let i = 0; i < 2; i += 1)
      expect(await send({ at: open, ...ofOpen, headers: old })).toMatchObject({ status: 200 });
    const names = ['(request-target)', 'date', 'digest'];
    expect(await send({ at: open, ...ofOpen, headers: old, names })).toMatchObject({ status: 200 });
    expect(await send({ at: open, ...ofOpen, headers: old, names })).toMatchObject(refusal);
  } finally {
    await open.stop();
  }
});

describe('a wrong credential', () => {
  test('causes the same statements for every kind of mistake', async () => {
    const { pool } = server.access;
    const query = pool.query.bind(pool);
    let names: string[] = [];
    pool.query = ((...args: Parameters<typeof query>) => {
      names.push((args[0] as unknown as { name?: string }).name ?? 'unnamed');
      return query(...args);
    }) as typeof pool.query;
    try {
      const seen: string[] = [];
      const disabled = await server.addKey({ isActive: false });
      const wrong: Sent[] = [
        { secret: 'x' },
        { keyId: absent },
        { ...disabled, secret: 'x' },
        { names: ['date'] },
        { algorithm: 'hmac-sha1' },
        { keyId: 'x' },
      ];
      for (const sent of wrong) {
        names = [];
        expect(await send(sent)).toMatchObject(refusal);
        seen.push(names.join());
      }
      expect([...new Set(seen)]).toEqual(['access-key-of-signature,audit-operate']);
    } finally {
      pool.query = query;
    }
  });

  /** Sends a request as bytes, as Node's client refuses to send some of them. */
  const raw = (lines: readonly string[]): Promise<string> =>
    new Promise((resolve, reject) => {
      let text = '';
      const socket = connect(server.port, '127.0.0.1', () =>
        socket.write([`GET ${path} HTTP/1.1`, 'Host: a', 'Connection: close', ...lines, '', ''].join('\r\n'), 'latin1'),
      );
      socket
        .setEncoding('latin1')
        .on('data', (chunk: string) => (text += chunk))
        .on('error', reject)
        .on('close', () => resolve(text));
    });

  test('gets the same 401 in hundreds of variants', async () => {
    const date = new Date().toUTCString();
    const authorization = signDraft(
      { method: 'GET', target: path, headers: { Accept: '*/*', Date: date } },
      { ...key, algorithm: 'hmac-sha256' },
    );
    const plain = ['Accept: */*', `Date: ${date}`];
    expect(await raw([...plain, `Authorization: ${authorization}`])).toMatch(/^HTTP\/1.1 200 /);

    const signature = /signature="(.*)"/.exec(authorization)![1]!;
    const { 'Signature-Input': input, Signature: message } = signMessage(
      { method: 'GET', target: path, headers: {} },
      { ...key, origin: 'http://a', created: Math.floor(Date.now() / 1000) },
    );
    expect(await raw([`Signature-Input: ${input}`, `Signature: ${message}`])).toMatch(/^HTTP\/1.1 200 /);

    const values = [
      '',
      'x',
      '"',
      '\\',
      '\\"',
      ',',
      '=',
      ' ',
      'ü',
      '\u00ff',
      '%00',
      'null',
      'undefined',
      '__proto__',
      '-1',
      '1e999',
      '{}',
      '[]',
      '*',
      "' OR 1=1 --",
      '../..',
      'a'.repeat(20_000),
    ];
    const cut = Array.from({ length: 60 }, (_, i) =>
      authorization.slice(0, 9 + Math.floor((i * (authorization.length - 10)) / 60)),
    );
    const headers = [
      'Signature',
      'Signature ,',
      'Signature =',
      'Signature ""',
      'Signature keyId',
      'Signature keyId=',
      'SIGNATURE x',
      ...cut.map((text) => text.trimEnd()),
      ...['keyId', 'algorithm', 'headers', 'signature'].flatMap((name) =>
        values.flatMap((value) => [
          authorization.replace(new RegExp(`${name}="[^"]*"`), () => `${name}="${value}"`),
          `${authorization},${name}="${value}"`,
        ]),
      ),
      ...values.map((value) => authorization.replace(',', `,${value},`)),
      ...Array.from(signature, (_, i) =>
        authorization.replace(
          signature,
          `${signature.slice(0, i)}${signature[i] === 'A' ? 'B' : 'A'}${signature.slice(i + 1)}`,
        ),
      ).filter((text) => !text.includes(signature)),
    ].filter((header) => header !== authorization);
    const requests = [
      ...headers.map((header) => [...plain, `Authorization: ${header}`]),
      // A signed header is changed, repeated or missing.
      ...[
        '',
        'Date:',
        'Date: now',
        `Date: ${date}, ${date}`,
        `Date: ${date.replace('GMT', 'CST')}`,
        `Date: ${new Date(0).toUTCString()}`,
      ].map((line) => ['Accept: */*', ...(line === '' ? [] : [line]), `Authorization: ${authorization}`]),
      [...plain, `Date: ${date}`, `Authorization: ${authorization}`],
      [...plain, 'Accept: */*', `Authorization: ${authorization}`],
      [`Date: ${date}`, `Authorization: ${authorization}`],
      [...plain, `Authorization: ${authorization}`, `Authorization: ${authorization}`],
      [...plain, `Authorization: ${authorization}`, 'Signature-Input: ,'],
      ...values.flatMap((value) => [
        [`Signature-Input: ${value}`, `Signature: ${message}`],
        [`Signature-Input: ${input}`, `Signature: ${value}`],
        [`Signature-Input: ${input.replace(/created=\d+/, () => `created=${value}`)}`, `Signature: ${message}`],
        [`Signature-Input: ${input.replace(/keyid="[^"]*"/, () => `keyid="${value}"`)}`, `Signature: ${message}`],
        [`Signature-Input: ${input.replace('"@method"', () => `"${value}"`)}`, `Signature: ${message}`],
      ]),
      [`Signature-Input: ${input}`],
      [`Signature-Input: ${input}`, `Signature: ${message}`, `Signature: ${message}`],
      [`Signature-Input: ${input}`, `Signature-Input: ${input}`, `Signature: ${message}`],
    ];
    expect(requests.length).toBeGreaterThan(400);
    const answers: string[] = [];
    for (let i = 0; i < requests.length; i += 20) {
      const batch = await Promise.all(requests.slice(i, i + 20).map(raw));
      // Without the headers that differ in every response.
      answers.push(...batch.map((answer) => answer.replace(/^(?:Date|X-Request-Id|Audit-Id): .*\r\n/gim, '')));
    }
    for (const [i, answer] of answers.entries()) {
      if (answer !== answers[0]) throw new Error(`another answer to ${JSON.stringify(requests[i])}: ${answer}`);
    }
    expect(answers[0]).toMatch(/^HTTP\/1.1 401 [\s\S]*"code":"authentication_failed"/);
    const text = JSON.stringify(server.logs);
    expect([text.includes(key.secret), text.includes(signature)]).toEqual([false, false]);
  });
});
