import { get, json } from '../../harness/wire/wire-request.ts';
import { headerOf, type Answer } from '../../harness/wire/answer.ts';
import { caseName, query, type AttackArea } from '../fuzz-case.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import { group } from '../fuzz-targets.ts';
import { jsonText } from './hostile-json.ts';
import { hostileText, mutateText } from './hostile-text.ts';

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const tableType = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const accepts = [
  tableType,
  'application/json;as=Table;v=v1beta1;g=meta.k8s.io',
  `${tableType},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json`,
  'application/yaml;as=Table;v=v1;g=meta.k8s.io',
  'application/json;as=Table;v=v2;g=meta.k8s.io',
  'application/json;as=Table;v=v1;g=meta.k8s.io;stream=watch',
  'application/json;g="meta.k8s.io";v="v1";as="Table"',
  'application/json;as=Table;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
  `${tableType};q=0, */*`,
  'application/json;as=Table',
];
const paths = [
  '.',
  '.spec',
  '.spec.a',
  '.spec.*',
  '.spec[*]',
  '.spec[0]',
  '.spec[-1]',
  '.spec[1:3]',
  '.spec[::2]',
  '..a',
  '..absent',
  '..a..b..a',
  '..*..*..*..absent',
  '.spec[?(@.a==1)].b',
  '.spec[?(@.a=="x")]',
  '.spec[?(@.a)]',
  ".spec['a','b']",
  String.raw`.metadata.labels.example\.com/n`,
  '.metadata.creationTimestamp',
  '.__proto__',
  '.constructor.name',
  `.spec${'[*]'.repeat(60)}`,
  `..${'a..'.repeat(60)}b`,
];
const types = ['string', 'integer', 'number', 'boolean', 'date'];

function column(random: SeededRandom, number: number): object {
  return {
    name: random.chance(0.9) ? `c${number}` : hostileText(random),
    type: random.pick(types),
    format: random.pick([undefined, '', 'int32', 'date']),
    description: random.chance(0.1) ? hostileText(random) : undefined,
    priority: random.pick([undefined, 0, 1]),
    jsonPath: random.chance(0.9) ? random.pick(paths) : mutateText(random, random.pick(paths)),
  };
}

function definition(random: SeededRandom, kind: string): object {
  const plural = `${kind.toLowerCase()}s`;
  const free = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    schema: {
      openAPIV3Schema: {
        type: 'object',
        properties: { spec: { 'x-kubernetes-preserve-unknown-fields': true }, status: free },
      },
    },
    additionalPrinterColumns: random.some(random.pick([3, 10, 128]), (number) => column(random, number)),
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope: 'Cluster', names: { kind, plural, singular: kind.toLowerCase() }, versions: [version] },
  };
}

function value(random: SeededRandom): string {
  return random.one(
    () => jsonText(random, 5),
    () => `{"a":{"b":{"a":${jsonText(random, 2)}}},"b":[${'{"a":1},'.repeat(random.pick([1, 500, 5000]))}{}]}`,
    () => JSON.stringify('x'.repeat(random.pick([10, 1023, 1024, 1025, 100_000]))),
    () => `[${'0,'.repeat(random.pick([10, 20_000]))}0]`,
    () => `{"a":"${random.pick(['2026-01-01T00:00:00Z', '9999-12-31T23:59:59Z', '0000-01-01T00:00:00Z', 'x', ''])}"}`,
    () => `${'{"a":'.repeat(60)}1${'}'.repeat(60)}`,
  );
}

interface Table {
  kind?: unknown;
  columnDefinitions: { type: string }[];
  rows: { cells: unknown[]; object: unknown }[];
}

const cellTypes: Readonly<Record<string, string>> = { integer: 'number', number: 'number', boolean: 'boolean' };
const longestText = 1024;

/** In every row there is a cell for each column, null or of its type, and no longer than a cell may be. */
function judgeTable(answer: Answer | undefined): string | undefined {
  if (answer?.status !== 200 || !answer.complete || headerOf(answer, 'content-type') !== 'application/json')
    return undefined;
  if (headerOf(answer, 'content-encoding') === 'gzip') return undefined;
  const table = JSON.parse(answer.body.toString()) as Table;
  if (table.kind !== 'Table') return undefined;
  for (const { cells } of table.rows) {
    if (cells.length !== table.columnDefinitions.length)
      return `${cells.length} cells of ${table.columnDefinitions.length} columns`;
    for (const [at, { type }] of table.columnDefinitions.entries()) {
      const cell = cells[at];
      if (cell !== null && typeof cell !== (cellTypes[type] ?? 'string'))
        return `a cell of type ${type} is ${JSON.stringify(cell).slice(0, 200)}`;
      if (typeof cell === 'string' && cell.length > longestText) return `a cell has ${cell.length} characters`;
    }
  }
  return undefined;
}

function accept(random: SeededRandom): [string, string][] {
  const text = random.chance(0.8) ? random.pick(accepts) : mutateText(random, random.pick(accepts));
  return [['Accept', text.replaceAll(/[^\t\x20-\x7e]/g, '')]];
}

function search(random: SeededRandom): string {
  const includeObject = random.pick(['Object', 'Metadata', 'None', '', 'x', hostileText(random)]);
  return query([
    ...(random.chance(0.7) ? [['includeObject', includeObject] as const] : []),
    ...(random.chance(0.3) ? [['limit', '3'] as const] : []),
  ]);
}

/** Tables of the fixed models with any Accept header; or of a model with hostile columns and of hostile values. */
export const tables: AttackArea = {
  name: 'tables',
  weight: 2,
  generate(random, fixtures) {
    const judge = (answers: readonly (Answer | undefined)[]): string | undefined =>
      answers.map(judgeTable).find((problem) => problem !== undefined);
    if (random.chance(0.9)) {
      const target = random.pick([fixtures.posts, `${fixtures.posts}/p1`, `${fixtures.posts}/p1/scale`, definitions]);
      return { changes: 'never', requests: [get(target + search(random), accept(random))], judge };
    }
    const kind = `T${random.below(20)}`;
    const collection = `/apis/${group}/v1/${kind.toLowerCase()}s`;
    const name = caseName(random);
    const object = `{"apiVersion":"${group}/v1","kind":"${kind}","metadata":{"name":"${name}"},"spec":${value(random)}}`;
    const watched = `${collection}?watch=true&timeoutSeconds=1`;
    return {
      changes: 'maybe',
      requests: [
        json('POST', definitions, definition(random, kind)),
        json('POST', collection, object, accept(random)),
        get(collection + search(random), accept(random)),
        get(`${collection}/${name}${search(random)}`, accept(random)),
        { ...get(watched, accept(random)), stream: true },
        json('DELETE', `${definitions}/${kind.toLowerCase()}s.${group}`, ''),
      ],
      judge,
    };
  },
};
