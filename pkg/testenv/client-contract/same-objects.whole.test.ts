import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isStatusError, type Client, type JsonObject, type JsonValue, type Stored } from '#pkg/apimachinery/index';
import { SeededRandom } from '../faults/seeded-random.ts';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { transports, type OpenTransport } from './transport.ts';
import { newNote, noteType, prepareContract, type Note } from './note-model.ts';

let env: TestEnv;
let open: OpenTransport[] = [];

beforeAll(async () => {
  env = await startTestEnv();
  await prepareContract(env);
  open = transports.map((transport) => transport.open({ env }));
});

afterAll(async () => {
  for (const transport of open) transport.dispose();
  await env?.stop();
});

type Operation = (client: Client, namespace: string) => Promise<unknown>;

const managers = ['a', 'b', 'svc', '', 'a\nb', 'x'.repeat(129)];
const texts = ['', 'a', 'ü', '\u{1F600}', 'a b', '"\\"', '\u0001', '__proto__', 'x'.repeat(3000)];

function someValue(random: SeededRandom, depth = 0): JsonValue {
  const kind = random.below(depth > 2 ? 5 : 7);
  if (kind === 0) return null;
  if (kind === 1) return random.chance(0.5);
  if (kind === 2) return random.below(1000) - 500;
  if (kind === 3) return random.next() * 1e6;
  if (kind === 4) return random.pick(texts);
  if (kind === 5) return Array.from({ length: random.below(4) }, () => someValue(random, depth + 1));
  return Object.fromEntries(
    Array.from({ length: random.below(4) }, () => [
      random.pick(['a', 'b', 'ü', 'toString']),
      someValue(random, depth + 1),
    ]),
  );
}

function someSpec(random: SeededRandom): JsonObject {
  const spec: JsonObject = {};
  if (random.chance(0.8)) spec['title'] = random.pick(['a', 'b', 'x'.repeat(101), 'ü']);
  if (random.chance(0.5)) spec['rank'] = random.chance(0.1) ? 'high' : random.below(9);
  if (random.chance(0.3)) spec['text'] = random.pick(texts);
  if (random.chance(0.5)) spec['extra'] = someValue(random);
  if (random.chance(0.1)) spec['unknown'] = 1;
  return spec;
}

/** An operation that gives the same result with every transport. */
function someOperation(random: SeededRandom): Operation {
  const name = `n-${random.below(5)}`;
  const spec = someSpec(random);
  const metadata = {
    ...(random.chance(0.2) ? { finalizers: ['example.com/f'] } : {}),
    ...(random.chance(0.3) ? { labels: { a: random.pick(['b', 'c', 'not valid']) } } : {}),
    ...(random.chance(0.1) ? { resourceVersion: '1' } : {}),
  };
  const object = (namespace: string): Note => ({
    ...newNote(namespace, name, {}, metadata),
    spec: spec as unknown as Note['spec'] & object,
  });
  const options = {
    dryRun: random.chance(0.1),
    fieldValidation: random.pick(['Ignore', 'Warn', 'Strict'] as const),
    ...(random.chance(0.5) ? { fieldManager: random.pick(managers) } : {}),
  };
  const force = random.chance(0.5);
  const rank = random.below(9);
  const json = [
    random.pick([
      { op: 'add', path: '/spec/rank', value: rank },
      { op: 'remove', path: '/spec/text' },
      { op: 'test', path: '/spec/rank', value: rank },
      { op: 'replace', path: '/metadata/finalizers', value: [] },
    ]),
  ];
  const operations: Operation[] = [
    (client, namespace) => client.create(noteType, object(namespace), options),
    (client, namespace) => client.create(noteType, object(namespace), options),
    (client, namespace) => client.update(noteType, object(namespace), options),
    (client, namespace) => client.updateStatus(noteType, { ...object(namespace), status: { words: rank } }, options),
    (client, namespace) =>
      client.patch(
        noteType,
        { namespace, name },
        { type: 'merge', patch: { spec, metadata: { finalizers: null } } },
        options,
      ),
    (client, namespace) => client.patch(noteType, { namespace, name }, { type: 'json', patch: json }, options),
    (client, namespace) =>
      client.patchStatus(
        noteType,
        { namespace, name },
        { type: 'merge', patch: { status: { phase: rank > 5 ? null : 'p' } } },
        options,
      ),
    (client, namespace) => client.apply(noteType, object(namespace), { ...options, force }),
    (client, namespace) => client.apply(noteType, object(namespace), { ...options, force }),
    (client, namespace) =>
      client.applyStatus(noteType, { ...object(namespace), status: { words: rank } }, { ...options, force }),
    (client, namespace) => client.patch(noteType, { namespace, name }, { type: 'strategic', patch: { spec } }, options),
    (client, namespace) => client.delete(noteType, { namespace, name }, { dryRun: options.dryRun }),
    (client, namespace) => client.get(noteType, { namespace, name }),
    (client, namespace) =>
      client.list(noteType, { namespace, fieldSelector: `rank>=${rank}`, sort: ['title,desc', 'rank'] }),
    (client, namespace) =>
      client.list(noteType, { namespace, labelSelector: random.pick(['a=b', '!a', 'a in (b,c)', '(']), limit: 2 }),
  ];
  return random.pick(operations);
}

/** The result without generated values, and without the transport's namespace. */
async function outcomeOf(operation: Operation, client: Client, namespace: string): Promise<unknown> {
  const outcome = await operation(client, namespace).catch((error: unknown) =>
    isStatusError(error) ? error.toStatus() : error,
  );
  const text = JSON.stringify(outcome, (key, value: unknown) =>
    ['uid', 'resourceVersion', 'creationTimestamp', 'deletionTimestamp', 'continue', 'time'].includes(key)
      ? typeof value
      : value,
  );
  return JSON.parse(
    text
      .replaceAll(`"${namespace}"`, '"NAMESPACE"')
      .replaceAll(`(${namespace}/`, '(NAMESPACE/')
      .replaceAll(/(revision|resourceVersion) \d+/g, '$1 N'),
  ) as unknown;
}

test.each(Array.from({ length: 5 }, (_, i) => i + 1))(
  'the same operations give the same answers through each transport (seed %i)',
  async (seed) => {
    const random = new SeededRandom(seed);
    for (let step = 0; step < 40; step += 1) {
      const at = random.next() * 2 ** 32;
      const outcomes = await Promise.all(
        transports.map(({ namespace }, i) =>
          outcomeOf(someOperation(new SeededRandom(at)), open[i]!.client, namespace),
        ),
      );
      for (const [i, outcome] of outcomes.entries())
        expect({ transport: transports[i]!.name, step, outcome }).toEqual({
          transport: transports[i]!.name,
          step,
          outcome: outcomes[0],
        });
    }
    const lists = await Promise.all(
      transports.map(async ({ namespace }, i) =>
        (await open[i]!.client.list(noteType, { namespace })).items.map((item) => bare(item)),
      ),
    );
    for (const list of lists) expect(list).toEqual(lists[0]);
  },
);

function bare({ metadata, spec, status }: Stored<Note>): unknown {
  const { name, labels, finalizers, generation } = metadata;
  return { name, labels, finalizers, generation, spec, status };
}
