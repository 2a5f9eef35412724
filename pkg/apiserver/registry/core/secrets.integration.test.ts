import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newTestSealer, startReplica, startTestApi, type TestApi } from '../../handlers/start-test-api.ts';

const secrets = '/api/v1/namespaces/default/secrets';
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const merge = { 'Content-Type': 'application/merge-patch+json' };
/** The value that must be found nowhere in the clear. */
const value = 'correct-horse-battery-staple';

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
});

afterAll(() => api?.stop());

function secret(name: string, content: object = {}, metadata: object = {}): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, ...metadata }, ...content };
}

/** All rows of the platform's schema as text. */
async function databaseText(): Promise<string> {
  const { rows } = await api.database.pool.query<{ name: string }>(
    "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname = 'platform'",
  );
  const texts: string[] = [];
  for (const { name } of rows) {
    const { rows: found } = await api.database.pool.query<{ text: string }>(`SELECT t::text AS text FROM ${name} AS t`);
    texts.push(...found.map(({ text }) => text));
  }
  return texts.join('\n');
}

async function secretsTable(): Promise<string> {
  const { rows } = await api.database.pool.query<{ id: number }>(
    "SELECT id FROM platform.models WHERE api_group = '' AND resource = 'secrets'",
  );
  return `platform.m_${rows[0]!.id}`;
}

async function bodyOf(name: string): Promise<string> {
  const { rows } = await api.database.pool.query<{ body: string }>(
    `SELECT body FROM ${await secretsTable()} WHERE name = $1`,
    [name],
  );
  return rows[0]!.body;
}

describe('a Secret', () => {
  test('is created from stringData, read, listed, selected by type and watched', async () => {
    const created = await api.call('POST', secrets, {
      body: secret('a', { stringData: { password: value }, type: 'example.com/a' }),
    });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({ data: { password: base64(value) }, type: 'example.com/a' });
    expect(created.body).not.toHaveProperty('stringData');
    expect(created.body).not.toHaveProperty('sealed');
    expect((await api.call('GET', `${secrets}/a`)).body).toEqual(created.body);
    await api.call('POST', secrets, { body: secret('b') });
    const list = await api.call('GET', `/api/v1/secrets?fieldSelector=type%3Dexample.com/a`);
    expect(list.body.items).toEqual([created.body]);
    const watch = await api.call(
      'GET',
      `${secrets}?watch=true&resourceVersion=0&timeoutSeconds=1&fieldSelector=type=Opaque`,
    );
    expect(JSON.parse(watch.text.trim().split('\n')[0]!)).toMatchObject({
      type: 'ADDED',
      object: { metadata: { name: 'b' }, type: 'Opaque' },
    });
  });

  test('has no value in the clear in the database, in any table', async () => {
    const content = { data: { password: base64(value) } };
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(content) };
    const key = { 'Idempotency-Key': 'clear-1' };
    expect(
      (await api.call('POST', secrets, { body: secret('clear', content, { annotations }), headers: key })).status,
    ).toBe(201);
    await api.call('PATCH', `${secrets}/clear`, { body: { stringData: { more: `${value}-2` } }, headers: merge });
    // A request that changes nothing is remembered with the object.
    const again = { ...merge, 'Idempotency-Key': 'clear-2' };
    await api.call('PATCH', `${secrets}/clear`, { body: {}, headers: again });
    await api.call('DELETE', `${secrets}/clear`);
    const text = await databaseText();
    expect(text).toContain('clear');
    for (const clear of [value, base64(value), base64(`${value}-2`)]) expect(text).not.toContain(clear);
    const replayed = await api.call('PATCH', `${secrets}/clear`, { body: {}, headers: again });
    expect(replayed.headers.get('idempotent-replayed')).toBe('true');
    expect(replayed.body).toMatchObject({ metadata: { annotations }, data: { more: base64(`${value}-2`) } });
  });

  test('is sealed again only when its data changes', async () => {
    await api.call('POST', secrets, { body: secret('kept', { stringData: { a: value } }) });
    const sealed = (body: string): string => (JSON.parse(body) as { sealed: string }).sealed;
    const first = await bodyOf('kept');
    const labelled = await api.call('PATCH', `${secrets}/kept`, {
      body: { metadata: { labels: { a: 'b' } } },
      headers: merge,
    });
    expect(sealed(await bodyOf('kept'))).toBe(sealed(first));
    const same = await api.call('PATCH', `${secrets}/kept`, { body: { stringData: { a: value } }, headers: merge });
    expect(same.body.metadata.resourceVersion).toBe(labelled.body.metadata.resourceVersion);
    await api.call('PATCH', `${secrets}/kept`, { body: { stringData: { a: 'other' } }, headers: merge });
    expect(sealed(await bodyOf('kept'))).not.toBe(sealed(first));
    expect((await api.call('GET', `${secrets}/kept`)).body.data).toEqual({ a: base64('other') });
  });

  test('errors do not repeat its values', async () => {
    const bad = await api.call('POST', secrets, { body: secret('bad', { data: { a: `${value}!` } }) });
    expect(bad).toMatchObject({ status: 400, body: { reason: 'BadRequest' } });
    const wrong = await api.call('POST', secrets, { body: secret('bad', { stringData: { a: [value] } }) });
    expect(wrong.status).toBe(422);
    const docker = { type: 'kubernetes.io/dockercfg', stringData: { '.dockercfg': value } };
    const invalid = await api.call('POST', secrets, { body: secret('bad', docker) });
    expect(invalid).toMatchObject({
      status: 422,
      body: {
        message:
          'Secret "bad" is invalid: data[.dockercfg]: Invalid value: "<secret contents redacted>": must be a JSON object',
      },
    });
    for (const { text } of [bad, wrong, invalid]) expect(text).not.toContain(value);
  });

  test('that is immutable is not changed', async () => {
    await api.call('POST', secrets, { body: secret('fixed', { immutable: true, stringData: { a: '1' } }) });
    const changed = await api.call('PATCH', `${secrets}/fixed`, { body: { stringData: { a: '2' } }, headers: merge });
    expect(changed).toMatchObject({
      status: 422,
      body: {
        message: 'Secret "fixed" is invalid: data: Forbidden: field is immutable when `immutable` is set',
        details: { causes: [{ reason: 'FieldValueForbidden', field: 'data' }] },
      },
    });
    const labels = { metadata: { labels: { a: 'b' } } };
    expect((await api.call('PATCH', `${secrets}/fixed`, { body: labels, headers: merge })).status).toBe(200);
  });

  test('a dry run stores nothing, and shows the object', async () => {
    const dry = await api.call('POST', `${secrets}?dryRun=All`, { body: secret('dry', { stringData: { a: '1' } }) });
    expect(dry).toMatchObject({ status: 201, body: { data: { a: base64('1') } } });
    expect((await api.call('GET', `${secrets}/dry`)).status).toBe(404);
  });
});

describe('a sealed object', () => {
  test('cannot be opened as another', async () => {
    for (const name of ['mine', 'theirs'])
      await api.call('POST', secrets, {
        body: secret(name, { stringData: { of: name } }, { finalizers: ['example.com/held'] }),
      });
    const table = await secretsTable();
    await api.database.pool.query(
      `UPDATE ${table} SET body = (SELECT body FROM ${table} WHERE name = 'theirs') WHERE name = 'mine'`,
    );
    const read = await api.call('GET', `${secrets}/mine`);
    expect(read).toMatchObject({
      status: 500,
      body: { message: 'secrets "mine": A secret cannot be opened: it was changed, or sealed for something else.' },
    });
    expect(read.text).not.toContain(base64('theirs'));
  });

  test('without its key is refused by name, and can be deleted', async () => {
    await api.call('POST', secrets, {
      body: secret('locked', { stringData: { a: '1' } }, { finalizers: ['example.com/held'] }),
    });
    const sealedBefore = await bodyOf('locked');
    const other = await startReplica(api.store, {}, newTestSealer());
    const none = await startReplica(api.store, {}, newTestSealer({ hasKey: false }));
    try {
      for (const replica of [other, none]) {
        const read = await replica.call('GET', `${secrets}/locked`);
        expect(read).toMatchObject({ status: 503, body: { reason: 'ServiceUnavailable' } });
        expect(read.body.message).toMatch(
          /^secrets "locked": A secret cannot be opened: it was sealed with the key [0-9a-f]{12}, which is missing\.$/,
        );
        expect((await replica.call('PATCH', `${secrets}/locked`, { body: {}, headers: merge })).status).toBe(503);
      }
      expect(await none.call('POST', secrets, { body: secret('new') })).toMatchObject({
        status: 503,
        body: { message: 'There is no key to seal secrets with.' },
      });
      expect(
        (
          await none.call('POST', '/api/v1/namespaces/default/configmaps', {
            body: { ...secret('cm'), kind: 'ConfigMap' },
          })
        ).status,
      ).toBe(201);
      const marked = await none.call('DELETE', `${secrets}/locked`);
      expect(marked).toMatchObject({ status: 200, body: { metadata: { deletionTimestamp: expect.any(String) } } });
      expect((JSON.parse(await bodyOf('locked')) as { sealed: string }).sealed).toBe(
        (JSON.parse(sealedBefore) as { sealed: string }).sealed,
      );
      // The data is still there for a server with the key.
      expect((await api.call('GET', `${secrets}/locked`)).body.data).toEqual({ a: base64('1') });
    } finally {
      await other.stop();
      await none.stop();
    }
  });

  test('without its key makes a list and a watch fail, which name it, until it is deleted by name', async () => {
    await api.call('POST', '/api/v1/namespaces', {
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'vault' } },
    });
    const vault = '/api/v1/namespaces/vault/secrets';
    const { resourceVersion } = (await api.call('GET', vault)).body.metadata;
    for (const name of ['old-1', 'old-2'])
      expect((await api.call('POST', vault, { body: secret(name, { stringData: { a: value } }) })).status).toBe(201);
    const other = await startReplica(api.store, {}, newTestSealer());
    try {
      expect((await other.call('POST', vault, { body: secret('new') })).status).toBe(201);
      const named = {
        code: 503,
        message:
          'a list of secrets cannot have these objects, whose sealed fields cannot be opened: vault/old-1, vault/old-2. Bring back their key, or delete them by name',
        details: { kind: 'secrets', causes: [{ field: 'vault/old-1' }, { field: 'vault/old-2' }] },
      };
      for (const query of ['', '?limit=10', '?page=1&size=10'])
        expect((await other.call('GET', vault + query)).body).toMatchObject(named);
      const fromNow = await other.call('GET', `${vault}?watch=true&timeoutSeconds=5`);
      expect(JSON.parse(fromNow.text)).toMatchObject({ type: 'ERROR', object: named });
      const watch = await other.call('GET', `${vault}?watch=true&resourceVersion=${resourceVersion}&timeoutSeconds=5`);
      expect(
        watch.text
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as unknown),
      ).toEqual([
        {
          type: 'ERROR',
          object: expect.objectContaining({
            code: 503,
            message: expect.stringMatching(/^secrets "old-1": A secret cannot be opened/),
          }),
        },
      ]);
      for (const name of ['old-1', 'old-2']) expect((await other.call('DELETE', `${vault}/${name}`)).status).toBe(200);
      const list = await other.call('GET', vault);
      expect(list.body.items).toMatchObject([{ metadata: { name: 'new' } }]);
    } finally {
      await other.stop();
    }
  });
});
