import type { JsonObject, JsonValue } from '@svc/client';
import {
  acceptForCounts,
  countParams,
  shownSize,
  type ShownCounts,
  type ShownObjects,
  type ShownRecords,
  type ShownRequest,
} from './shown-request.ts';

/** A module that prints what the page shows. The token comes from the environment's TOKEN. */
export function sdkText(requests: readonly ShownRequest[], origin: string): string {
  return [
    `import { connect } from '@svc/client';`,
    '',
    `const server = connect({ url: ${literal(origin)}, credential: process.env.TOKEN });`,
    ...(requests.length === 1 ? requests.flatMap(linesOf) : requests.flatMap(blockOf)),
    '',
  ].join('\n');
}

/** Several in one module have the same names. */
function blockOf(request: ShownRequest): string[] {
  const lines = linesOf(request).join('\n').split('\n');
  return ['{', ...lines.map((line) => `  ${line}`), '}'];
}

function linesOf(request: ShownRequest): string[] {
  if ('counts' in request) return countsLines(request);
  return 'query' in request ? recordsLines(request) : objectsLines(request);
}

function countsLines({ path, counts }: ShownCounts): string[] {
  return [
    `const counts = ${literal(counts.map(({ label, selectors }) => [label, [...selectors]]))};`,
    'for (const [label, selectors] of counts) {',
    `  const query = new URLSearchParams([...selectors, ${countParams.map((param) => literal(param)).join(', ')}]);`,
    `  const accept = ${literal(acceptForCounts)};`,
    `  const { total } = await server.read(${literal(path)}, { query, accept });`,
    '  console.log(label, total);',
    '}',
  ];
}

function recordsLines({ path, query }: ShownRecords): string[] {
  const options = query.size === 0 ? '' : `, { query: new URLSearchParams(${literal(Object.fromEntries(query))}) }`;
  return [`const answer = await server.read(${literal(path)}${options});`, 'console.log(answer);'];
}

function objectsLines(request: ShownObjects): string[] {
  const { model, namespace, name, selection = {}, sort = [] } = request;
  const { group, version, kind, plural, namespaced, hasStatusSubresource } = model;
  const facts = { group, version, kind, plural, namespaced, hasStatusSubresource };
  const resource = namespace === '' ? literal(facts) : `${literal(facts)}, ${literal({ namespace })}`;
  return [
    `const resource = server.resource(${resource});`,
    name === undefined
      ? `const { items, total } = await resource.list(${literal(listQuery(selection, sort))});`
      : `const object = await resource.get(${literal(name)});`,
    name === undefined ? 'console.log(total, items);' : 'console.log(object);',
  ];
}

function listQuery({ where, labels }: NonNullable<ShownObjects['selection']>, sort: readonly string[]): JsonObject {
  return {
    ...(isEmpty(where) ? {} : { where: simplified(where as JsonObject) }),
    ...(isEmpty(labels) ? {} : { labels: labels as JsonObject }),
    ...(sort.length === 0 ? {} : { sort: [...sort] }),
    page: 1,
    size: shownSize,
  };
}

function isEmpty(conditions: object | undefined): boolean {
  return conditions === undefined || Object.keys(conditions).length === 0;
}

/** One alternative is a plain value, as a person writes it. */
function simplified(where: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(where).map(([index, condition]) => {
      const { in: values, ...others } = condition as { in?: JsonValue[] };
      const isOne = values?.length === 1 && Object.keys(others).length === 0;
      return [index, isOne ? values[0]! : condition];
    }),
  );
}

const lineWidth = 90;

/** JavaScript of a value, in one line if it fits. */
function literal(value: JsonValue, indent = ''): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value !== 'object' || value === null) return String(value);
  const inner = `${indent}  `;
  const parts = (next: string): string[] =>
    Array.isArray(value)
      ? value.map((each) => literal(each, next))
      : Object.entries(value).map(([key, each]) => `${keyText(key)}: ${literal(each, next)}`);
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{ ', ' }'];
  const line = `${open}${parts(indent).join(', ')}${close}`;
  if (line.length + indent.length <= lineWidth && !line.includes('\n')) return line;
  return `${open.trim()}\n${parts(inner)
    .map((part) => `${inner}${part},\n`)
    .join('')}${indent}${close.trim()}`;
}

function keyText(key: string): string {
  // Written as a plain key it would set the prototype.
  if (key === '__proto__') return `['__proto__']`;
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : quoted(key);
}

function quoted(text: string): string {
  // JSON's escapes are JavaScript's, but the quotes.
  const inner = JSON.stringify(text)
    .slice(1, -1)
    .replaceAll(String.raw`\"`, '"')
    .replaceAll("'", String.raw`\'`);
  return `'${inner}'`;
}
