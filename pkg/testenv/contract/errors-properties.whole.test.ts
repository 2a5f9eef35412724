import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import {
  applyPatch,
  clientOf,
  json,
  jsonPatch,
  mergePatch,
  withQuery,
  yaml,
  type WireResponse,
  type ContractClient,
} from './client.ts';
import { apiVersion, article, articles, registerModels } from './models.ts';

let env: TestEnv;
let client: ContractClient;
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
  await client.post(articles, article('kept', { title: 'kept', tags: ['a'], extra: { a: { b: 1 } } }));
});
afterAll(() => env.stop());

async function everything(): Promise<string> {
  return JSON.stringify((await client.get(articles)).body.items);
}

/** No 5xx, and every error is a Status. */
function expectAnswered({ status, body, text }: WireResponse): void {
  expect(status).toBeLessThan(500);
  if (status >= 400) expect(body).toMatchObject({ kind: 'Status', status: 'Failure', code: status });
  expect(text).not.toMatch(/node_modules|\.ts:\d/);
}

/** A refused write changes nothing. */
async function expectUntouched(write: () => Promise<WireResponse>): Promise<void> {
  const before = await everything();
  const answer = await write();
  expectAnswered(answer);
  if (answer.status >= 400) expect(await everything()).toBe(before);
}

function wellFormed(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, '?');
}

const randomQuery = fc
  .array(
    fc.oneof(
      {
        weight: 3,
        arbitrary: fc.constantFrom('slug', 'tags', 'priority', 'name', 'metadata.name', 'tier', 'a', '1', 'true'),
      },
      fc.constantFrom(
        '=',
        '==',
        '!=',
        '!',
        ',',
        '(',
        ')',
        ' in ',
        ' notin ',
        '>',
        '>=',
        '<',
        '^=',
        '\\',
        ' ',
        '%',
        "'",
        '\u0000',
        'ä',
        '"',
        '*',
      ),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''));
const odd = fc.oneof(
  randomQuery,
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom('', '0', '-1', '1e9', '99999999999999999999', 'null', '[]'),
);

test('queries', async () => {
  const parameter = fc.constantFrom(
    'page',
    'size',
    'limit',
    'continue',
    'sort',
    'labelSelector',
    'fieldSelector',
    'resourceVersion',
    'resourceVersionMatch',
    'exactTotal',
    'fieldValidation',
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(parameter, odd), { maxLength: 4 }), async (pairs) => {
      const query = Object.fromEntries(
        pairs.map(([name]) => [name, pairs.filter(([each]) => each === name).map(([, value]) => value)]),
      );
      const answer = await client.get(withQuery(articles, query));
      if (answer.status === 504)
        expect(answer.body.reason).toBe('Timeout'); // a resourceVersion from the future
      else expectAnswered(answer);
    }),
    { numRuns: 400 },
  );
});

test('selectors alone', async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom('labelSelector', 'fieldSelector', 'sort'), randomQuery, async (name, text) => {
      const answer = await client.get(withQuery(articles, { [name]: text }));
      expectAnswered(answer);
      expect([200, 400]).toContain(answer.status);
    }),
    { numRuns: 400 },
  );
});

test('continue tokens', async () => {
  await client.post(articles, article('second'));
  const token = (await client.get(`${articles}?limit=1`)).body.metadata.continue;
  const change = fc.tuple(fc.nat(token.length - 1), fc.base64String({ minLength: 4, maxLength: 4 }), fc.nat(3));
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
      let changed = token;
      for (const [at, text, gone] of changes)
        changed = changed.slice(0, at) + text.replaceAll('=', '') + changed.slice(at + gone);
      const answer = await client.get(withQuery(articles, { limit: '1', continue: changed }));
      if (answer.status === 504) expect(answer.headers.get('retry-after')).not.toBeNull();
      else expectAnswered(answer);
    }),
    { numRuns: 150 },
  );
});

test('continue tokens with changed parts', async () => {
  const token = (await client.get(`${articles}?limit=1`)).body.metadata.continue;
  const parts = JSON.parse(Buffer.from(token, 'base64url').toString()) as Record<string, unknown>;
  const part = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom<unknown>(
      0,
      -1,
      1.5,
      1e300,
      2 ** 53,
      '9'.repeat(40),
      'a\0',
      '\ud800',
      null,
      [],
      [null],
      {},
      "'; --",
    ),
  );
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...Object.keys(parts)), part, async (key, changed) => {
      const forged = Buffer.from(JSON.stringify({ ...parts, [key]: changed })).toString('base64url');
      const answer = await client.get(withQuery(articles, { limit: '1', continue: forged }));
      if (answer.status === 504) expect(answer.headers.get('retry-after')).not.toBeNull();
      else expectAnswered(answer);
    }),
    { numRuns: 200 },
  );
});

test('names', async () => {
  const name = fc.oneof(fc.string({ unit: 'binary', maxLength: 20 }), fc.stringMatching(/^[a-z0-9.\-_/]{1,20}$/));
  await fc.assert(
    fc.asyncProperty(name, async (text) => {
      await expectUntouched(() => client.post(articles, article(text)));
      const legal = text.length <= 253 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text) && !text.endsWith('\n');
      const read = await client.get(`${articles}/${encodeURIComponent(wellFormed(text))}`);
      if (legal) expect(read.status).toBe(200);
      else expectAnswered(read);
    }),
    { numRuns: 100 },
  );
});

const value = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>('a\0b', '\ud800', 2 ** 53, 1e308, -0, { __proto__: null, constructor: 1 }),
);
const body = fc.record(
  {
    apiVersion: fc.oneof({ weight: 9, arbitrary: fc.constant<unknown>(apiVersion) }, value),
    kind: fc.oneof({ weight: 9, arbitrary: fc.constant<unknown>('Article') }, value),
    metadata: fc.oneof(
      {
        weight: 9,
        arbitrary: fc.record(
          {
            name: fc.oneof({ weight: 5, arbitrary: fc.constant<unknown>('kept') }, value),
            labels: value,
            annotations: value,
            finalizers: fc.oneof(fc.constant<unknown>([]), value),
            ownerReferences: value,
            resourceVersion: value,
            uid: value,
            managedFields: value,
            deletionTimestamp: value,
          },
          { requiredKeys: ['name'] },
        ),
      },
      value,
    ),
    spec: fc.oneof(
      {
        weight: 9,
        arbitrary: fc.record(
          {
            title: value,
            tags: value,
            priority: value,
            score: value,
            published: value,
            publishedAt: value,
            extra: value,
            bogus: value,
          },
          { requiredKeys: [] },
        ),
      },
      value,
    ),
    status: value,
  },
  { requiredKeys: ['apiVersion', 'kind', 'metadata'] },
);

test('bodies of POST and PUT', async () => {
  await fc.assert(
    fc.asyncProperty(
      body,
      fc.boolean(),
      fc.constantFrom('', '?fieldValidation=Strict', '?dryRun=All'),
      (sent, put, query) =>
        expectUntouched(() =>
          put ? client.put(`${articles}/kept${query}`, sent) : client.post(`${articles}${query}`, sent),
        ),
    ),
    { numRuns: 250 },
  );
});

test('merge patches', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(body, value), (patch) =>
      expectUntouched(() => client.patch(`${articles}/kept`, JSON.stringify(patch) ?? '')),
    ),
    { numRuns: 200 },
  );
});

test('JSON patches', async () => {
  const part = fc.constantFrom(
    'spec',
    'metadata',
    'labels',
    'name',
    'extra',
    'a',
    'b',
    '0',
    '-',
    '-1',
    '01',
    '99999999999',
    '~0',
    '~1',
    '~',
    '__proto__',
    'constructor',
    'length',
    '',
  );
  const path = fc.oneof(
    fc.array(part, { maxLength: 4 }).map((parts) => parts.map((each) => `/${each}`).join('')),
    odd,
  );
  const operation = fc.record(
    { op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test', 'bogus'), path, from: path, value },
    { requiredKeys: ['op', 'path'] },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 4 }), (patch) =>
      expectUntouched(() => client.patch(`${articles}/kept`, patch, jsonPatch)),
    ),
    { numRuns: 300 },
  );
  expect({}).not.toHaveProperty('a');
});

test('bytes as any media type', async () => {
  const types = fc.constantFrom(json, yaml, mergePatch, jsonPatch, applyPatch);
  const text = fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }),
    fc
      .array(
        fc.constantFrom(
          '{',
          '}',
          '[',
          ']',
          ':',
          ',',
          '"a"',
          '1',
          ' ',
          '\n',
          '- ',
          '&a ',
          '*a',
          '!!',
          '|',
          '---\n',
          '<<: ',
          '\t',
          '#',
        ),
        { minLength: 1, maxLength: 15 },
      )
      .map((parts) => parts.join('')),
  );
  await fc.assert(
    fc.asyncProperty(fc.constantFrom('POST', 'PUT', 'PATCH', 'DELETE'), types, text, (method, headers, sent) =>
      expectUntouched(() =>
        client.send(method, method === 'POST' ? articles : `${articles}/kept`, {
          body: wellFormed(sent),
          headers: method === 'DELETE' ? { ...headers, 'if-match': '"none"' } : headers,
        }),
      ),
    ),
    { numRuns: 300 },
  );
});
