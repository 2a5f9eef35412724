/**
 * Uses a running svc as a client does: makes a model, an object of it, watches it, lists it, removes both, and asks
 * access management who it is. Environment: API_URL, ACCESS_URL (none: not asked), TOKEN_FILE with the administrator's
 * token; NODE_EXTRA_CA_CERTS where no one knows the certificate's authority. Prints a line a step; ends with 1 and one
 * sentence where something is not as it should be. Nothing of it stays.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';

const STEP_MS = 60_000;
const { API_URL = 'http://127.0.0.1:8090', ACCESS_URL, TOKEN_FILE = 'data/admin-token' } = process.env;
const token = readFileSync(TOKEN_FILE, 'utf8').trim();

const group = `smoke-${randomBytes(4).toString('hex')}.example.com`;
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `tries.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { kind: 'Try', plural: 'tries', singular: 'try' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', properties: { text: { type: 'string' } } } },
          },
        },
      },
    ],
  },
};
const tries = `/apis/${group}/v1/namespaces/default/tries`;

async function call(method, url, { body, ok = [200, 201], signal = AbortSignal.timeout(STEP_MS) } = {}) {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const response = await fetch(url, {
    method,
    headers,
    signal,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!ok.includes(response.status))
    throw new Error(`${method} ${url} is ${response.status}: ${(await response.text()).slice(0, 500)}`);
  return response;
}

/** Asks again each half second, for a minute. */
async function until(done) {
  const end = Date.now() + STEP_MS;
  for (;;) {
    const problem = await done();
    if (problem === undefined) return;
    if (Date.now() > end) throw new Error(problem);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** Replicas hear of a model one after the other, and any of them may answer: 404 is asked again. */
async function callServed(method, path, { ok = [200, 201], ...options } = {}) {
  let response;
  await until(async () => {
    response = await call(method, `${API_URL}${path}`, { ...options, ok: [...ok, 404] });
    return response.status === 404 ? `${method} ${path} is 404` : undefined;
  });
  return response;
}

async function readyz(url) {
  await until(async () => {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(STEP_MS) }).catch((error) => ({
      status: String(error.cause?.message ?? error.message),
    }));
    return response.status === 200 ? undefined : `${url}/readyz is ${response.status}`;
  });
}

/** Resolves with the first event of the name; the watch begins after `revision`. */
async function watchFor(name, revision) {
  const cut = new AbortController();
  const timer = setTimeout(
    () => cut.abort(new Error(`the watch has told nothing of ${name} for ${STEP_MS / 1000} s`)),
    STEP_MS,
  );
  try {
    const response = await callServed('GET', `${tries}?watch=true&resourceVersion=${revision}`, { signal: cut.signal });
    let text = '';
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const lines = text.split('\n');
      text = lines.pop();
      const event = lines
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line))
        .find(({ object }) => object.metadata?.name === name);
      if (event !== undefined) return event.type;
    }
    throw new Error(`the watch ended before it told of ${name}`);
  } finally {
    clearTimeout(timer);
    cut.abort();
  }
}

/** @type {[string, () => Promise<unknown>][]} */
const steps = [
  ['the platform is ready', () => readyz(API_URL)],
  ['a model is made', () => call('POST', `${API_URL}${definitions}`, { body: definition })],
  ['it is served', () => callServed('GET', tries)],
  [
    'an object is made, and a watch tells of it',
    async () => {
      const { metadata } = await (await callServed('GET', tries)).json();
      const told = watchFor('one', metadata.resourceVersion);
      const made = callServed('POST', tries, {
        body: { apiVersion: `${group}/v1`, kind: 'Try', metadata: { name: 'one' }, spec: { text: 'hello' } },
      });
      const [type] = await Promise.all([told, made]);
      if (type !== 'ADDED') throw new Error(`the watch told ${type}, not ADDED`);
    },
  ],
  [
    'a list has it',
    async () => {
      const { items } = await (await callServed('GET', tries)).json();
      if (items.length !== 1 || items[0].spec.text !== 'hello')
        throw new Error(`the list has ${JSON.stringify(items).slice(0, 500)}`);
    },
  ],
  ['it is removed', () => callServed('DELETE', `${tries}/one`)],
  [
    'the model is removed, and goes',
    async () => {
      const url = `${API_URL}${definitions}/${definition.metadata.name}`;
      await call('DELETE', url);
      await until(async () =>
        (await call('GET', url, { ok: [200, 404] })).status === 404 ? undefined : `${url} is still there`,
      );
    },
  ],
  ...(ACCESS_URL === undefined
    ? []
    : [
        ['access management is ready', () => readyz(ACCESS_URL)],
        ['its token is known there', () => call('GET', `${ACCESS_URL}/metrics`)],
        [
          'no other is',
          async () => {
            const { status } = await fetch(`${ACCESS_URL}/metrics`, {
              headers: { authorization: 'Bearer pat_0000000000000000000000000000000000aa' },
              signal: AbortSignal.timeout(STEP_MS),
            });
            if (status !== 401 && status !== 403) throw new Error(`a token that is none is answered ${status}`);
          },
        ],
      ]),
];

try {
  for (const [what, step] of steps) {
    await step();
    process.stdout.write(`ok: ${what}\n`);
  }
} catch (error) {
  process.stderr.write(`${error.message}${error.cause?.message === undefined ? '' : `: ${error.cause.message}`}\n`);
  process.exitCode = 1;
  await call('DELETE', `${API_URL}${definitions}/${definition.metadata.name}`, { ok: [200, 404] }).catch(
    () => undefined,
  );
}
// Kept connections would hold it up for seconds.
process.exit();
