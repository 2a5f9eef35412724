import { once, type HoldCase } from '../hold-case.ts';
import type { MeasuredRequest } from '../measured-server.ts';
import { collectionOf, define, group, many, members, nested, object, openObject, withSpec } from '../sample-model.ts';

const plural = 'bodies';
const largest = 3 * 1024 * 1024 - 500;
const yamlLargest = 1024 * 1024 - 500;
const values = 99_000;

let made = 0;

function post(spec: unknown): MeasuredRequest {
  return postAs('v1', spec);
}

function postMetadata(metadata: Record<string, unknown>): MeasuredRequest {
  made += 1;
  return postText(JSON.stringify({ ...object(plural, '', {}), metadata: { name: `m${made}`, ...metadata } }));
}

/** An entry whose fields are not sorted. */
function entry(manager: string, count: number): Record<string, unknown> {
  return {
    manager,
    operation: 'Update',
    apiVersion: `${group}/v1`,
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:spec': members(count, () => ({}), `f:${manager}-`) },
  };
}

function postAs(version: string, spec: unknown): MeasuredRequest {
  made += 1;
  return {
    method: 'POST',
    path: collectionOf(plural, version),
    body: JSON.stringify(object(plural, `b${made}`, { spec }, version)),
  };
}

function postText(body: string | Buffer, type = 'application/json'): MeasuredRequest {
  return { method: 'POST', path: collectionOf(plural), body, headers: { 'Content-Type': type } };
}

function yaml(lines: string): MeasuredRequest {
  made += 1;
  return postText(
    `apiVersion: holds.svc.example/v1\nkind: Bodies\nmetadata: {name: b${made}}\nspec:\n${lines}`,
    'application/yaml',
  );
}

function filled(piece: (position: number) => string, size: number): string {
  const pieces: string[] = [];
  for (let length = 0, position = 0; length < size; position += 1) {
    const next = piece(position);
    length += next.length;
    pieces.push(next);
  }
  return pieces.join('').slice(0, size);
}

/** The cost of decoding a body, and of storing one with any schema. */
export function bodyCases(): HoldCase[] {
  const prepare = once(async (server) =>
    define(server, plural, [
      { schema: withSpec(openObject) },
      { schema: withSpec({ type: 'object', properties: { known: { type: 'string' } } }) },
    ]),
  );
  const json: [string, () => MeasuredRequest][] = [
    ['one text', () => post({ text: 'x'.repeat(largest) })],
    [
      'one text of escapes',
      () =>
        postText(
          `{"apiVersion":"holds.svc.example/v1","kind":"Bodies","metadata":{"name":"e${(made += 1)}"},"spec":{"text":"${'\\u00e9'.repeat(largest / 6 - 100)}"}}`,
        ),
    ],
    [
      'one text of lone surrogates',
      () => postText(`{"apiVersion":"holds.svc.example/v1","spec":{"text":"${'\\ud800'.repeat(largest / 6 - 100)}"}}`),
    ],
    ['as many numbers as allowed', () => post({ list: many(values, (i) => i * 1.5) })],
    ['as many keys as allowed', () => post(members(values / 2, (i) => i))],
    ['as many long texts as allowed', () => post({ list: many(values, (i) => `${i} of many texts, somewhat`) })],
    ['texts with escapes', () => post({ list: many(values / 2, (i) => `${i}\n\t"é" and a "quoted" text`) })],
    ['small objects', () => post({ list: many(values / 4, (i) => ({ name: `n${i}` })) })],
    ['lists in lists', () => post({ list: many(1000, () => nested<unknown>(90, 1, (inner) => [inner])) })],
    ['too many values', () => postText(`[${'1,'.repeat(largest / 2 - 1)}1]`)],
    ['too many brackets', () => postText('['.repeat(largest))],
    [
      'duplicate keys',
      () =>
        postText(
          `{${filled((i) => `"d${i % 100}":${i},`, 1_000_000)
            .slice(0, -20)
            .replace(/,[^,]*$/, '')}}`,
        ),
    ],
    ['prototype keys', () => postText(`{"a":[${'{"__proto__":1},'.repeat(30_000)}{}]}`)],
    ['numbers that cannot be kept', () => postText(`{"a":[${'12345678901234567890,'.repeat(90_000)}1]}`)],
    ['not JSON, at the end', () => postText(`{"a":"${'x'.repeat(largest - 20)}",}`)],
    ['not UTF-8, at the end', () => postText(Buffer.concat([Buffer.alloc(largest, 'x'), Buffer.from([0xff])]))],
    [
      'unknown fields',
      () =>
        postAs(
          'v2',
          members(values / 2, (i) => i),
        ),
    ],
    ['annotations', () => postMetadata({ annotations: members(20_000, () => 'x', 'example.com/a') })],
    [
      'managed fields',
      () => postMetadata({ managedFields: [{ manager: 'm', fieldsV1: members(45_000, () => ({})) }] }),
    ],
    ['managed fields of one manager', () => postMetadata({ managedFields: [entry('m', 45_000)] })],
    ['managed fields of many managers', () => postMetadata({ managedFields: many(1000, (i) => entry(`m${i}`, 40)) })],
  ];
  const texts: [string, () => MeasuredRequest][] = [
    ['short lines', () => yaml(filled((i) => `  k${i}: ${i}\n`, 100_000).replace(/[^\n]*$/, ''))],
    ['as many lines as fit', () => yaml(filled((i) => `  k${i}: ${i}\n`, yamlLargest))],
    [
      'lines with long values',
      () => yaml(filled((i) => `  key${i}: "a value of some length, which is said of number ${i}"\n`, yamlLargest)),
    ],
    ['flow sequence', () => yaml(`  list: [${filled(() => '1,', 35_000)}1]\n`)],
    ['nested flow', () => yaml(`  list: [${filled(() => '{a: {b: {c: [1]}}}, ', 48_000).replace(/\{[^}]*$/, '')}1]\n`)],
    ['block scalar', () => yaml(`  text: |\n${filled((i) => `    line ${i} of a text\n`, yamlLargest)}`)],
    ['folded scalar', () => yaml(`  text: >\n${filled((i) => `    line ${i}\n\n`, yamlLargest)}`)],
    ['quoted over lines', () => yaml(`  text: "${filled((i) => `line ${i}\n\n    `, yamlLargest - 200)}"\n`)],
    ['plain over lines', () => yaml(`  text: a\n${filled((i) => `    line ${i}\n`, yamlLargest)}`)],
    ['comments', () => yaml(`${filled((i) => `  # ${i}\n`, 130_000)}  a: 1\n`)],
    ['blank lines', () => yaml(`${'\n'.repeat(55_000)}  a: 1\n`)],
    ['escapes', () => yaml(`  text: "${'\\u00e9'.repeat(yamlLargest / 6 - 50)}"\n`)],
    ['aliases', () => yaml(`  a: &a [${many(300, (i) => i).join(',')}]\n  list:\n${'  - *a\n'.repeat(300)}`)],
    ['spaces', () => yaml(`  a:${' '.repeat(yamlLargest)}1\n`)],
    ['an error at the end', () => yaml(`${filled((i) => `  k${i}: ${i}\n`, 90_000).replace(/[^\n]*$/, '')}  x: [\n`)],
    ['unclosed quote', () => yaml(`  a: "${'x\n '.repeat(yamlLargest / 3 - 100)}`)],
    ['tabs', () => yaml(`  a: ${'\t'.repeat(yamlLargest)}1\n`)],
  ];
  return [
    ...json.map(([name, make]) => ({ name: `JSON body: ${name}`, prepare, requests: () => [make()] })),
    ...texts.map(([name, make]) => ({ name: `YAML body: ${name}`, prepare, requests: () => [make()] })),
  ];
}
