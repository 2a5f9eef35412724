import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  allNotesPath,
  newTestNote,
  notesPath,
  oldPosts,
  newTestPost,
  posts,
  startTestApi,
  type TestApiResponse,
  type TestApi,
} from '../start-test-api.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
});

afterAll(() => api?.stop());

const merge = { 'Content-Type': 'application/merge-patch+json' };
const json = { 'Content-Type': 'application/json-patch+json' };

async function stored(
  name: string,
  spec: Parameters<typeof newTestPost>[1] = {},
  metadata: Parameters<typeof newTestPost>[2] = {},
) {
  const answer = await api.call('POST', posts, { body: newTestPost(name, spec, metadata) });
  expect(answer.status).toBe(201);
  return answer.body as {
    metadata: { name: string; uid: string; resourceVersion: string; generation: number };
    spec: unknown;
  };
}

describe('create', () => {
  test('answers 201, the path and the object', async () => {
    const answer = await api.call('POST', posts, { body: newTestPost('created', { title: 't' }) });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('location')).toBe(`${posts}/created`);
    expect(answer.headers.get('etag')).toBe(`"${answer.body.metadata.resourceVersion}"`);
    expect(answer.body).toMatchObject({
      apiVersion: 'blog.example.com/v1',
      kind: 'Post',
      metadata: { name: 'created', generation: 1 },
      spec: { title: 't' },
    });
    expect(await api.call('POST', posts, { body: newTestPost('created') })).toMatchObject({
      status: 409,
      body: { reason: 'AlreadyExists', message: 'posts.blog.example.com "created" already exists' },
    });
  });

  test('generates a name', async () => {
    const answer = await api.call('POST', posts, { body: newTestPost(undefined, {}, { generateName: 'gen-' }) });
    expect(answer.body.metadata.name).toMatch(/^gen-[a-z0-9]{5}$/);
    expect(answer.headers.get('location')).toBe(`${posts}/${answer.body.metadata.name}`);
  });

  test('accepts and returns YAML', async () => {
    const body = 'apiVersion: blog.example.com/v1\nkind: Post\nmetadata:\n  name: in-yaml\nspec:\n  title: "yes"\n';
    const answer = await api.call('POST', posts, {
      body,
      headers: { 'Content-Type': 'application/yaml', Accept: 'application/yaml' },
    });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('content-type')).toBe('application/yaml');
    expect(answer.text).toMatch(/^apiVersion: blog\.example\.com\/v1\nkind: Post\n/);
  });

  test('as a dry run stores nothing', async () => {
    const answer = await api.call('POST', `${posts}?dryRun=All`, { body: newTestPost('dry') });
    expect(answer).toMatchObject({ status: 201, body: { metadata: { name: 'dry', uid: expect.any(String) } } });
    expect(answer.headers.has('location')).toBe(false);
    expect((await api.call('GET', `${posts}/dry`)).status).toBe(404);
  });

  test.each([
    ['no body', '', 400, 'the body of the request is empty'],
    ['no JSON', '{', 400, /^the body of the request is not valid JSON/],
    ['no object', '[]', 400, 'the body of the request must be an object'],
    ['no kind', { apiVersion: 'blog.example.com/v1', metadata: { name: 'x' } }, 400, /'Kind' is missing/],
    ['no apiVersion', { kind: 'Post', metadata: { name: 'x' } }, 400, /'apiVersion' is missing/],
    [
      'another version',
      { ...newTestPost('x'), apiVersion: 'other/v1' },
      400,
      'the API version in the data (other/v1) does not match the expected API version (blog.example.com/v1)',
    ],
    [
      'another kind',
      { ...newTestPost('x'), kind: 'Note' },
      400,
      'the kind in the data (Note) does not match the expected kind (Post)',
    ],
    ['metadata that is a list', { ...newTestPost('x'), metadata: [] }, 400, 'metadata must be an object'],
    ['labels that are a string', newTestPost('x', {}, { labels: 'a' }), 400, /.*/],
    ['no metadata', { ...newTestPost('x'), metadata: undefined }, 422, /metadata\.name: Required value/],
    ['no name', newTestPost(undefined), 422, /metadata\.name: Required value/],
    [
      'a title that is too long',
      newTestPost('x', { title: 'x'.repeat(101) }),
      422,
      /^Post\.blog\.example\.com "x" is invalid: spec\.title: Too long/,
    ],
  ])('with %s is refused', async (_reason, body, status, message) => {
    const answer = await api.call('POST', posts, { body });
    expect(answer).toMatchObject({ status, body: { kind: 'Status', code: status } });
    if (typeof message === 'string') expect(answer.body.message).toBe(message);
    else expect(answer.body.message).toMatch(message);
  });

  test.each(['text/plain', 'application/vnd.kubernetes.protobuf', 'application/json;charset=latin1', 'x'])(
    'of content type %s is a 415',
    async (type) => {
      expect(
        await api.call('POST', posts, { body: newTestPost('x'), headers: { 'Content-Type': type } }),
      ).toMatchObject({
        status: 415,
        body: { reason: 'UnsupportedMediaType' },
      });
    },
  );

  test('is not done if its answer is not acceptable', async () => {
    expect(
      (await api.call('POST', posts, { body: newTestPost('unanswerable'), headers: { Accept: 'image/png' } })).status,
    ).toBe(406);
    expect((await api.call('GET', `${posts}/unanswerable`)).status).toBe(404);
  });

  test('reports duplicate and unknown fields as fieldValidation says', async () => {
    const body =
      '{"apiVersion":"blog.example.com/v1","kind":"Post","metadata":{"name":"fields"},"spec":{"title":"a","title":"b"}}';
    const strict = await api.call('POST', `${posts}?fieldValidation=Strict`, { body });
    expect(strict).toMatchObject({
      status: 400,
      body: {
        message:
          'Post in version "v1" cannot be handled as a Post: strict decoding error: duplicate field "spec.title"',
      },
    });
    const ignored = await api.call('POST', `${posts}?fieldValidation=Ignore&dryRun=All`, { body });
    expect([ignored.status, ignored.headers.get('warning')]).toEqual([201, null]);
    const warned = await api.call('POST', posts, { body });
    expect([warned.status, warned.headers.get('warning')]).toEqual([201, '299 - "duplicate field \\"spec.title\\""']);
  });
});

describe('idempotency', () => {
  test('repeats the first outcome unchanged', async () => {
    const request = {
      body: newTestPost(undefined, { title: 'once' }, { generateName: 'once-' }),
      headers: { 'Idempotency-Key': 'k1' },
    };
    const first = await api.call('POST', posts, request);
    const name = first.body.metadata.name as string;
    await api.call('PATCH', `${posts}/${name}`, { body: { spec: { title: 'changed' } }, headers: merge });
    const second = await api.call('POST', posts, request);
    expect(second).toMatchObject({ status: 201, body: first.body });
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect(second.headers.get('location')).toBe(first.headers.get('location'));
    expect((await api.call('POST', posts, { ...request, body: newTestPost('other') })).status).toBe(422);
    expect(
      (await api.call('POST', posts, { ...request, headers: { ...request.headers, 'x-user': 'other' } })).body.metadata
        .name,
    ).not.toBe(name);
  });

  test('covers changes and deletions', async () => {
    await stored('twice');
    const patch = { body: { spec: { title: 'p' } }, headers: { ...merge, 'Idempotency-Key': 'k2' } };
    const patched = await api.call('PATCH', `${posts}/twice`, patch);
    expect(await api.call('PATCH', `${posts}/twice`, patch)).toMatchObject({ status: 200, body: patched.body });
    const removed = await api.call('DELETE', `${posts}/twice`, { headers: { 'Idempotency-Key': 'k3' } });
    const again = await api.call('DELETE', `${posts}/twice`, { headers: { 'Idempotency-Key': 'k3' } });
    expect(again).toMatchObject({ status: 200, body: removed.body });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });

  test.each([
    ['an empty key', 'POST', posts, ''],
    ['a key that is too long', 'POST', posts, 'k'.repeat(256)],
    ['a key beyond ASCII', 'POST', posts, 'é'],
    ['a dry run', 'POST', `${posts}?dryRun=All`, 'k'],
    ['a collection', 'DELETE', posts, 'k'],
  ])('with %s is a 400', async (_reason, method, path, key) => {
    expect(
      (
        await api.call(method, path, {
          ...(method === 'POST' ? { body: newTestPost('x') } : {}),
          headers: { 'Idempotency-Key': key },
        })
      ).status,
    ).toBe(400);
  });
});

describe('get', () => {
  test('has an entity tag, and is 304 for a client with the same tag', async () => {
    const { metadata } = await stored('tagged');
    const tag = `"${metadata.resourceVersion}"`;
    expect((await api.call('GET', `${posts}/tagged`)).headers.get('etag')).toBe(tag);
    for (const known of [tag, `W/${tag}`, `"1", ${tag}`, '*']) {
      const answer = await api.call('GET', `${posts}/tagged`, { headers: { 'If-None-Match': known } });
      expect([answer.status, answer.text, answer.headers.get('etag')]).toEqual([304, '', tag]);
    }
    expect((await api.call('GET', `${posts}/tagged`, { headers: { 'If-None-Match': '"1"' } })).status).toBe(200);
  });

  test.each([
    ['', 200],
    ['?resourceVersion=0', 200],
    ['?resourceVersion=1', 200],
    ['?resourceVersion=999999999', 504],
    ['?resourceVersion=x', 400],
  ])('with %p is a %i', async (query, status) => {
    await api.call('POST', posts, { body: newTestPost('fresh') });
    expect((await api.call('GET', `${posts}/fresh${query}`)).status).toBe(status);
  });

  test('returns metadata only, and refuses what it cannot return', async () => {
    await stored('partial');
    const accept = (value: string) => api.call('GET', `${posts}/partial`, { headers: { Accept: value } });
    expect((await accept('application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io')).body).toMatchObject({
      kind: 'PartialObjectMetadata',
      metadata: { name: 'partial' },
    });
    expect((await accept('application/json;as=Table;v=v2;g=meta.k8s.io,application/json')).body.kind).toBe('Post');
    expect((await accept('application/json;as=Table;v=v2;g=meta.k8s.io')).status).toBe(406);
    expect((await api.call('HEAD', `${posts}/partial`)).text).toBe('');
  });
});

describe('update', () => {
  test('replaces, with or without conditions', async () => {
    const first = await stored('put', { title: 'a' });
    const second = await api.call('PUT', `${posts}/put`, { body: newTestPost('put', { title: 'b' }) });
    expect(second).toMatchObject({
      status: 200,
      body: { spec: { title: 'b' }, metadata: { generation: 2, uid: first.metadata.uid } },
    });
    const stale = first.metadata.resourceVersion;
    const body = newTestPost('put', { title: 'c' });
    expect(
      (await api.call('PUT', `${posts}/put`, { body: newTestPost('put', { title: 'c' }, { resourceVersion: stale }) }))
        .status,
    ).toBe(409);
    for (const tag of [`"${stale}"`, `"${stale}", "1"`, `W/${second.headers.get('etag')}`, '"*"']) {
      expect([tag, (await api.call('PUT', `${posts}/put`, { body, headers: { 'If-Match': tag } })).status]).toEqual([
        tag,
        412,
      ]);
    }
    expect((await api.call('PUT', `${posts}/put`, { body, headers: { 'If-Match': '5' } })).status).toBe(400);
    expect(
      (
        await api.call('PUT', `${posts}/put`, {
          body,
          headers: { 'If-Match': `"${stale}", ${second.headers.get('etag')}` },
        })
      ).status,
    ).toBe(200);
    const same = await api.call('PUT', `${posts}/put`, { body, headers: { 'If-Match': '*' } });
    expect(same.body.metadata.generation).toBe(3);
  });

  test('several tags hold for the version that the write replaces, whoever wrote it meanwhile', async () => {
    const { metadata } = await stored('several-tags');
    const tags = Array.from({ length: 200 }, (_, i) => `"${Number(metadata.resourceVersion) + i}"`).join(', ');
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        api.call('PUT', `${posts}/several-tags`, {
          body: newTestPost('several-tags', { replicas: i }),
          headers: { 'If-Match': tags },
        }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  });

  test.each([
    ['another name', newTestPost('zz'), 'the name of the object (zz) does not match the name on the URL (named)'],
    ['no name', newTestPost(undefined), /^name must be provided/],
    ['another kind', { ...newTestPost('named'), kind: 'Note' }, /kind in the data/],
    ['no metadata', { ...newTestPost('named'), metadata: null }, /^name must be provided/],
  ])('with %s is a 400', async (_reason, body, message) => {
    await api.call('POST', posts, { body: newTestPost('named') });
    const answer = await api.call('PUT', `${posts}/named`, { body });
    expect(answer.status).toBe(400);
    expect(answer.body.message).toEqual(typeof message === 'string' ? message : expect.stringMatching(message));
  });

  test('never creates', async () => {
    expect((await api.call('PUT', `${posts}/absent`, { body: newTestPost('absent') })).status).toBe(404);
  });

  test('of status keeps the rest, and the reverse', async () => {
    await stored('sub', { title: 'a' });
    const answer = await api.call('PUT', `${posts}/sub/status`, {
      body: { ...newTestPost('sub', { title: 'ignored' }), status: { phase: 'Ready' } },
    });
    expect(answer.body).toMatchObject({
      spec: { title: 'a' },
      status: { phase: 'Ready' },
      metadata: { generation: 1 },
    });
    const main = await api.call('PATCH', `${posts}/sub`, {
      body: { spec: { title: 'b' }, status: { phase: 'ignored' } },
      headers: merge,
    });
    expect(main.body).toMatchObject({ spec: { title: 'b' }, status: { phase: 'Ready' } });
  });
});

describe('patch', () => {
  test('merges or applies operations', async () => {
    await stored('patched', { title: 'a', tags: ['x'] });
    const merged = await api.call('PATCH', `${posts}/patched`, {
      body: { spec: { title: null, tags: ['y'] } },
      headers: merge,
    });
    expect(merged).toMatchObject({ status: 200, body: { spec: { tags: ['y'] } } });
    expect(merged.headers.get('etag')).toBe(`"${merged.body.metadata.resourceVersion}"`);
    const operated = await api.call('PATCH', `${posts}/patched`, {
      body: [{ op: 'add', path: '/spec/tags/-', value: 'z' }],
      headers: json,
    });
    expect(operated).toMatchObject({ status: 200, body: { spec: { tags: ['y', 'z'] } } });
    expect(
      (await api.call('PATCH', `${posts}/patched`, { body: {}, headers: merge })).body.metadata.resourceVersion,
    ).toBe(operated.body.metadata.resourceVersion);
  });

  test('is conditional on its revision, or is retried after a conflict', async () => {
    const { metadata } = await stored('raced');
    const results = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        api.call('PATCH', `${posts}/raced`, { body: { metadata: { labels: { [`l${i}`]: 'x' } } }, headers: merge }),
      ),
    );
    expect(results.map(({ status }) => status)).toEqual(results.map(() => 200));
    expect(Object.keys((await api.call('GET', `${posts}/raced`)).body.metadata.labels)).toHaveLength(8);
    const stale = { metadata: { resourceVersion: metadata.resourceVersion, labels: { l9: 'x' } } };
    expect((await api.call('PATCH', `${posts}/raced`, { body: stale, headers: merge })).status).toBe(409);
  });

  test.each([
    ['strategic', 'application/strategic-merge-patch+json', {}],
    ['plain JSON', 'application/json', {}],
  ])('of type %s is a 415 that lists what is served', async (_reason, type, body) => {
    const answer = await api.call('PATCH', `${posts}/patched`, { body, headers: { 'Content-Type': type } });
    expect(answer).toMatchObject({
      status: 415,
      body: {
        message: expect.stringContaining(
          'application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
        ),
      },
    });
  });

  test.each(['', '/status', '/scale'])('of the object%s is not an apply, so force is refused', async (subresource) => {
    await stored(`forced${subresource.length}`);
    const path = `${posts}/forced${subresource.length}${subresource}`;
    for (const force of ['?force=true', '?force=false', '?force']) {
      const { status, body } = await api.call('PATCH', `${path}${force}`, { body: {}, headers: merge });
      expect([status, body.message]).toEqual([
        422,
        'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
      ]);
      expect(body.details.causes).toEqual([expect.objectContaining({ reason: 'FieldValueForbidden', field: 'force' })]);
    }
    expect((await api.call('PATCH', path, { body: {}, headers: merge })).status).toBe(200);
  });

  test.each([
    ['a merge patch that is a list', merge, [], 400],
    ['a merge patch that is null', merge, 'null', 400],
    ['operations that are an object', json, {}, 400],
    ['an unknown operation', json, [{ op: 'frob', path: '/spec' }], 400],
    ['an operation that does not fit', json, [{ op: 'remove', path: '/spec/nope' }], 422],
    ['another kind', merge, { kind: 'Note' }, 400],
    ['another name', merge, { metadata: { name: 'zz' } }, 400],
    ['no metadata', merge, { metadata: null }, 400],
    ['a whole document that is not an object', json, [{ op: 'replace', path: '', value: 5 }], 400],
    ['a title that is too long', merge, { spec: { title: 'x'.repeat(101) } }, 422],
  ])('with %s is refused', async (_reason, headers, body, status) => {
    await api.call('POST', posts, { body: newTestPost('steady') });
    expect((await api.call('PATCH', `${posts}/steady`, { body, headers })).status).toBe(status);
  });
});

describe('delete', () => {
  test('answers Success with the uid', async () => {
    const { metadata } = await stored('gone');
    const dry = await api.call('DELETE', `${posts}/gone`, {
      body: { kind: 'DeleteOptions', apiVersion: 'v1', dryRun: ['All'] },
    });
    expect(dry.status).toBe(200);
    const answer = await api.call('DELETE', `${posts}/gone`, { body: { propagationPolicy: 'Background' } });
    expect(answer.body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name: 'gone', group: 'blog.example.com', kind: 'posts', uid: metadata.uid },
    });
    expect(await api.call('DELETE', `${posts}/gone`)).toMatchObject({
      status: 404,
      body: { message: 'posts.blog.example.com "gone" not found' },
    });
  });

  test('waits for finalizers, and the removal of the last one completes it', async () => {
    await stored('held', {}, { finalizers: ['example.com/hold'] });
    const answer = await api.call('DELETE', `${posts}/held`);
    expect(answer).toMatchObject({
      status: 200,
      body: { kind: 'Post', metadata: { deletionTimestamp: expect.any(String), generation: 2 } },
    });
    const released = await api.call('PATCH', `${posts}/held`, {
      body: { metadata: { finalizers: null } },
      headers: merge,
    });
    expect(released.status).toBe(200);
    expect((await api.call('GET', `${posts}/held`)).status).toBe(404);
  });

  test('obeys its preconditions', async () => {
    const { metadata } = await stored('guarded');
    expect(await api.call('DELETE', `${posts}/guarded`, { body: { preconditions: { uid: 'other' } } })).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining('does not match the UID in record') },
    });
    expect(
      (await api.call('DELETE', `${posts}/guarded`, { body: { preconditions: { resourceVersion: '1' } } })).status,
    ).toBe(409);
    expect((await api.call('DELETE', `${posts}/guarded`, { headers: { 'If-Match': '"1"' } })).status).toBe(412);
    expect((await api.call('DELETE', `${posts}/guarded`, { body: { kind: 'Post' } })).status).toBe(400);
    expect(
      (
        await api.call('DELETE', `${posts}/guarded`, {
          body: '',
          headers: { 'If-Match': `"${metadata.resourceVersion}"` },
        })
      ).status,
    ).toBe(200);
  });

  test('of a collection deletes the selected objects', async () => {
    for (const name of ['many-a', 'many-b', 'many-c'])
      await stored(name, {}, { labels: { many: name === 'many-c' ? 'keep' : 'go' } });
    const answer = await api.call('DELETE', `${posts}?labelSelector=many%3Dgo`);
    expect(answer).toMatchObject({ status: 200, body: { apiVersion: 'blog.example.com/v1', kind: 'PostList' } });
    expect(answer.body.items.map((item: { metadata: { name: string } }) => item.metadata.name)).toEqual([
      'many-a',
      'many-b',
    ]);
    expect((await api.call('GET', `${posts}/many-c`)).status).toBe(200);
    expect((await api.call('DELETE', `${posts}?labelSelector=many%3Dkeep&limit=1`)).status).toBe(400);
    expect(
      (await api.call('DELETE', `${posts}?labelSelector=many%3D`, { headers: { 'If-Match': '"1"' } })).status,
    ).toBe(400);
  });
});

describe('scale', () => {
  test('reads and changes replicas, and nothing else', async () => {
    await stored('scaled', { title: 'a' });
    expect((await api.call('GET', `${posts}/scaled/scale`)).status).toBe(400);
    const set = await api.call('PATCH', `${posts}/scaled/scale`, { body: { spec: { replicas: 3 } }, headers: merge });
    expect(set).toMatchObject({
      status: 200,
      body: {
        kind: 'Scale',
        apiVersion: 'autoscaling/v1',
        metadata: { name: 'scaled' },
        spec: { replicas: 3 },
        status: { replicas: 0 },
      },
    });
    const scale = { ...set.body, spec: { replicas: 5 } };
    expect((await api.call('PUT', `${posts}/scaled/scale`, { body: scale })).body.spec.replicas).toBe(5);
    expect((await api.call('PUT', `${posts}/scaled/scale`, { body: { ...scale, spec: { replicas: 6 } } })).status).toBe(
      409,
    );
    expect((await api.call('PUT', `${posts}/scaled/scale`, { body: { ...scale, kind: 'Post' } })).status).toBe(400);
    expect(
      (await api.call('PATCH', `${posts}/scaled/scale`, { body: { spec: { replicas: -1 } }, headers: merge })).status,
    ).toBe(422);
    expect((await api.call('GET', `${posts}/scaled`)).body.spec).toEqual({ title: 'a', replicas: 5 });
    expect((await api.call('GET', `${posts}/scaled/scale`)).body.spec).toEqual({ replicas: 5 });
  });
});

describe('paths', () => {
  test.each([
    ['an unknown model', 'GET', '/apis/blog.example.com/v1/nopes', 404],
    ['an unknown version', 'GET', '/apis/blog.example.com/v9/posts', 404],
    ['an unknown path', 'GET', '/nope', 404],
    ['an unknown subresource', 'GET', `${posts}/a/nope`, 404],
    ['a subresource that is not declared', 'GET', `${notesPath}/a/status`, 404],
    ['segments after the subresource', 'GET', `${posts}/a/status/x`, 404],
    ['a cluster-scoped model in a namespace', 'GET', '/apis/blog.example.com/v1/namespaces/default/posts', 404],
    ['a namespaced object without a namespace', 'GET', `${allNotesPath}/a`, 404],
    ['a namespace that does not exist', 'GET', notesPath.replace('default', 'absent'), 404],
    ['PUT on a collection', 'PUT', posts, 400],
    ['PATCH on a collection', 'PATCH', posts, 400],
    ['POST on an object', 'POST', `${posts}/a`, 405],
    ['POST on all namespaces', 'POST', allNotesPath, 405],
    ['DELETE on all namespaces', 'DELETE', allNotesPath, 405],
    ['DELETE on a subresource', 'DELETE', `${posts}/a/status`, 405],
    ['POST on a scale', 'POST', `${posts}/a/scale`, 405],
  ])('%s: %s %s is a %i', async (_reason, method, path, status) => {
    const answer = await api.call(method, path, method === 'GET' ? {} : { body: newTestPost('a') });
    expect(answer).toMatchObject({ status, body: { kind: 'Status', status: 'Failure', code: status } });
    if (status === 405) expect(answer.headers.get('allow')).toMatch(/GET, HEAD/);
  });

  test('name the allowed methods', async () => {
    expect((await api.call('POST', `${posts}/a`)).headers.get('allow')).toBe('GET, HEAD, PUT, PATCH, DELETE');
    expect((await api.call('POST', allNotesPath)).headers.get('allow')).toBe('GET, HEAD');
    expect((await api.call('OPTIONS', posts)).headers.get('allow')).toBe('GET, HEAD, POST, DELETE');
    expect((await api.call('GET', notesPath.replace('default', 'absent'))).body.message).toBe(
      'namespaces "absent" not found',
    );
  });

  test('namespaces have separate objects', async () => {
    await api.call('POST', '/api/v1/namespaces', {
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } },
    });
    const elsewhere = notesPath.replace('default', 'other');
    const created = await api.call('POST', notesPath, { body: newTestNote('n') });
    expect(created).toMatchObject({ status: 201, body: { metadata: { namespace: 'default' } } });
    expect(created.headers.get('location')).toBe(`${notesPath}/n`);
    expect((await api.call('POST', notesPath, { body: newTestNote('m', { namespace: 'other' }) })).status).toBe(400);
    expect((await api.call('POST', elsewhere, { body: newTestNote('n') })).status).toBe(201);
    expect((await api.call('GET', allNotesPath)).body.items).toHaveLength(2);
    expect((await api.call('GET', elsewhere)).body.items).toHaveLength(1);
    expect((await api.call('GET', '/api/v1/namespaces/other')).body.kind).toBe('Namespace');
  });

  test('a deprecated version warns', async () => {
    const answer = await api.call('GET', oldPosts);
    expect(answer.headers.get('warning')).toBe(
      '299 - "blog.example.com/v1alpha1 Post is deprecated; use blog.example.com/v1 Post"',
    );
    expect(answer.body.apiVersion).toBe('blog.example.com/v1alpha1');
  });
});

test('without the status subresource a change of status raises the generation', async () => {
  const path = `${notesPath}/counted`;
  await api.call('POST', notesPath, { body: newTestNote('counted') });
  const patched = await api.call('PATCH', path, { body: { status: { phase: 'Ready' } }, headers: merge });
  expect(patched.body).toMatchObject({ metadata: { generation: 2 }, status: { phase: 'Ready' } });
});

test('a finalizer can only be added to an object that is not being deleted', async () => {
  const path = `${notesPath}/held`;
  const add = (...finalizers: string[]): Promise<TestApiResponse> =>
    api.call('PATCH', path, { body: { metadata: { finalizers } }, headers: merge });
  await api.call('POST', notesPath, { body: newTestNote('held') });
  expect((await add('example.com/a')).body.metadata.finalizers).toEqual(['example.com/a']);
  expect((await api.call('DELETE', path)).body.metadata.generation).toBe(2);
  expect((await add('example.com/a', 'example.com/b')).status).toBe(422);
  expect((await add('example.com/b')).status).toBe(422);
  expect((await add()).status).toBe(200);
  expect((await api.call('GET', path)).status).toBe(404);
});
