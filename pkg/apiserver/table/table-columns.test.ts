import { describe, expect, test } from '@jest/globals';
import { groupResource, type JsonObject, type JsonValue, type PrinterColumn } from '#pkg/apimachinery/index';
import { builtinModels } from '#pkg/apis/index';
import { scaleTable } from './builtin-tables.ts';
import { printerColumns, tableColumns } from './table-columns.ts';

const now = Date.parse('2026-01-02T00:00:00Z');
const yesterday = '2026-01-01T00:00:00Z';
const title: PrinterColumn = { name: 'Title', type: 'string', jsonPath: '.spec.title' };
const object: JsonObject = { metadata: { name: 'a', creationTimestamp: yesterday }, spec: { title: 'A' } };

describe('printer columns', () => {
  test('are the name and the age if none are declared', () => {
    const { definitions, cells } = printerColumns([]);
    expect(definitions).toEqual([
      expect.objectContaining({ name: 'Name', type: 'string', format: 'name', priority: 0 }),
      expect.objectContaining({ name: 'Age', type: 'date', format: '', priority: 0 }),
    ]);
    expect(cells(object, now)).toEqual(['a', '24h']);
  });

  test('replace the age, and have a description of their own', () => {
    const wide = { ...title, name: 'Wide', format: 'password', description: 'all of it', priority: 1 };
    const { definitions, cells } = printerColumns([title, wide]);
    expect(definitions.slice(1)).toEqual([
      {
        name: 'Title',
        type: 'string',
        format: '',
        description: 'Custom resource definition column (in JSONPath format): .spec.title',
        priority: 0,
      },
      { name: 'Wide', type: 'string', format: 'password', description: 'all of it', priority: 1 },
    ]);
    expect(cells(object, now)).toEqual(['a', 'A', 'A']);
  });

  test('end where a path cannot be read', () => {
    const { definitions, cells } = printerColumns([title, { ...title, name: 'Bad', jsonPath: '.spec[' }, title]);
    expect(definitions.map(({ name }) => name)).toEqual(['Name', 'Title']);
    expect(cells(object, now)).toEqual(['a', 'A']);
  });

  test('look at 10 000 values of one object at most', () => {
    const { cells } = printerColumns([title, { ...title, jsonPath: '..absent' }, title]);
    const large = { ...object, list: Array.from({ length: 20_000 }, () => 1) };
    expect(cells(large, now)).toEqual(['a', 'A', null, null]);
    expect(cells(object, now)).toEqual(['a', 'A', null, 'A']);
  });

  test('have no more text than people read', () => {
    const long = 'x'.repeat(5000);
    const { definitions } = printerColumns([{ ...title, name: long, description: long }]);
    expect(definitions[1]).toMatchObject({
      name: expect.stringMatching(/^x{1021}\.{3}$/),
      description: expect.stringMatching(/^x{1021}\.{3}$/),
    });
  });

  test('are compiled once', () => {
    const [model] = builtinModels;
    const served = { resource: groupResource(model!), version: model!.versions[0]! };
    expect(tableColumns(served)).toBe(tableColumns(served));
  });
});

/** The columns that kubectl's users know; those in brackets only with `-o wide`. */
const known: Readonly<Record<string, string>> = {
  Namespace: 'Name Status Age',
  Role: 'Name Created-At',
  ClusterRole: 'Name Created-At',
  RoleBinding: 'Name Role Age [Users] [Groups] [ServiceAccounts]',
  ClusterRoleBinding: 'Name Role Age [Users] [Groups] [ServiceAccounts]',
  Lease: 'Name Holder Age',
  ConfigMap: 'Name Data Age',
  Secret: 'Name Type Data Age',
  Event: 'Last-Seen Type Reason Object [Subobject] [Source] Message [First-Seen] [Count] [Name]',
  ResourceQuota: 'Name Request Limit Age',
  CustomResourceDefinition: 'Name Created-At',
  Plugin: 'Name Version Enabled Phase Age',
  SavedView: 'Name Title Model Age',
  FormHint: 'Name Model Age',
  ConsolePage: 'Name Title Age',
};

function columnsOf(kind: string) {
  const model = builtinModels.find(({ names }) => names.kind === kind)!;
  return tableColumns({ resource: groupResource(model), version: model.versions[0]! });
}

test.each(builtinModels.map(({ names }) => names.kind))('%s has its columns, and a cell for each', (kind) => {
  const { definitions, cells } = columnsOf(kind);
  const shown = definitions.map(({ name, priority }) => (priority > 0 ? `[${name}]` : name).replace(' ', '-'));
  expect(shown.join(' ')).toBe(known[kind]);
  expect(cells({}, now)).toHaveLength(definitions.length);
});

test('each kind has one column of the format name, by which kubectl finds the name', () => {
  for (const { names } of builtinModels) {
    const named = columnsOf(names.kind).definitions.filter(({ format }) => format === 'name');
    expect([names.kind, named.map(({ name }) => name)]).toEqual([names.kind, ['Name']]);
  }
});

test('times are texts in tables of Kubernetes, but for those of the kinds without columns', () => {
  const typesOf = (kind: string) => columnsOf(kind).definitions.map(({ type }) => type);
  expect(typesOf('Namespace')).toEqual(['string', 'string', 'string']);
  expect(typesOf('Lease')).toEqual(['string', 'string', 'string']);
  expect(typesOf('CustomResourceDefinition')).toEqual(['string', 'date']);
  expect(typesOf('ClusterRole')).toEqual(['string', 'date']);
});

const metadata = { name: 'a', creationTimestamp: yesterday };
const event = { metadata, type: 'Normal', reason: 'Made', message: ' It was made. ' };

test.each<[string, string, JsonObject, JsonValue[]]>([
  ['Namespace', 'its phase', { metadata, status: { phase: 'Active' } }, ['a', 'Active', '24h']],
  ['Role', 'a time, no age', { metadata }, ['a', yesterday]],
  ['CustomResourceDefinition', 'a time, no age', { metadata }, ['a', yesterday]],
  ['Lease', 'no holder', { metadata, spec: {} }, ['a', '', '24h']],
  ['Lease', 'its holder', { metadata, spec: { holderIdentity: 'me' } }, ['a', 'me', '24h']],
  [
    'ConfigMap',
    'the number of keys',
    { metadata, data: { a: '1' }, binaryData: { b: 'Mg==', c: 'Mw==' } },
    ['a', 3, '24h'],
  ],
  ['ConfigMap', 'no keys', { metadata }, ['a', 0, '24h']],
  ['Secret', 'no values', { metadata, type: 'Opaque', data: { a: 'MQ==' } }, ['a', 'Opaque', 1, '24h']],
  [
    'RoleBinding',
    'subjects by kind',
    {
      metadata,
      roleRef: { kind: 'ClusterRole', name: 'view' },
      subjects: [
        { kind: 'User', name: 'ada' },
        { kind: 'Group', name: 'readers' },
        { kind: 'User', name: 'eve' },
        { kind: 'ServiceAccount', namespace: 'default', name: 'robot' },
      ],
    },
    ['a', 'ClusterRole/view', '24h', 'ada, eve', 'readers', 'default/robot'],
  ],
  [
    'ClusterRoleBinding',
    'nobody',
    { metadata, roleRef: { kind: 'ClusterRole', name: 'view' } },
    ['a', 'ClusterRole/view', '24h', '', '', ''],
  ],
  [
    'ResourceQuota',
    'used of hard',
    {
      metadata,
      status: { hard: { 'limits.x': '4', bytes: '1Gi', 'count/notes': '5' }, used: { 'limits.x': '1', bytes: '7' } },
    },
    ['a', 'bytes: 7/1Gi, count/notes: 0/5', 'limits.x: 1/4', '24h'],
  ],
  [
    'Event',
    'the classic form',
    {
      ...event,
      involvedObject: { kind: 'Post', name: 'hello', fieldPath: 'spec.title' },
      source: { component: 'editor', host: 'one' },
      firstTimestamp: yesterday,
      lastTimestamp: '2026-01-01T23:59:00Z',
      count: 3,
    },
    ['60s', 'Normal', 'Made', 'post/hello', 'spec.title', 'editor, one', 'It was made.', '24h', 3, 'a'],
  ],
  [
    'Event',
    'the newer form, once',
    {
      ...event,
      involvedObject: { kind: 'Post' },
      firstTimestamp: null,
      lastTimestamp: null,
      eventTime: '2026-01-01T23:59:00.500000Z',
      reportingComponent: 'editor',
      reportingInstance: 'two',
    },
    ['59s', 'Normal', 'Made', 'post', '', 'editor, two', 'It was made.', '59s', 1, 'a'],
  ],
  [
    'Event',
    'a series',
    { ...event, eventTime: yesterday, series: { count: 9, lastObservedTime: '2026-01-01T23:59:50Z' } },
    ['10s', 'Normal', 'Made', '', '', '', 'It was made.', '24h', 9, 'a'],
  ],
  ['Event', 'without times', event, ['<unknown>', 'Normal', 'Made', '', '', '', 'It was made.', '<unknown>', 1, 'a']],
])('%s: %s', (kind, _reason, shown, expected) => {
  expect(columnsOf(kind).cells(shown, now)).toEqual(expected);
});

test('a Scale shows its replicas', () => {
  expect(scaleTable.definitions.map(({ name }) => name)).toEqual(['Name', 'Desired', 'Available', 'Age']);
  expect(scaleTable.cells({ metadata, spec: { replicas: 3 }, status: { replicas: 2 } }, now)).toEqual([
    'a',
    3,
    2,
    '24h',
  ]);
});
