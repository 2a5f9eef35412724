import { stringify } from 'yaml';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import { json, type WireRequest } from '../../harness/wire/wire-request.ts';
import { caseName, query, type AttackArea } from '../fuzz-case.ts';
import { group, type FuzzTargets } from '../fuzz-targets.ts';
import { builtInKinds, builtInObject, pickKind, typed } from './built-in-objects.ts';
import { shapeText } from './configuration.ts';
import { hostileJsonBody, jsonText } from './hostile-json.ts';
import { hostileText, mutateBytes } from './hostile-text.ts';
import { writeAndRead } from './read-back.ts';

const applyType = 'application/apply-patch+yaml';
const managers = ['a', 'b', 'c', 'kubectl', 'x'.repeat(128)];
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

function search(random: SeededRandom): string {
  const manager = random.chance(0.95) ? random.pick(managers) : random.pick(['', 'x'.repeat(129), hostileText(random)]);
  const pairs: [string, string][] = [];
  if (random.chance(0.98)) pairs.push(['fieldManager', manager]);
  if (random.chance(0.5)) pairs.push(['force', random.pick(['true', 'true', 'false', '1', '0', '', 'x'])]);
  if (random.chance(0.1)) pairs.push(['dryRun', random.pick(['All', 'All', '', 'x'])]);
  if (random.chance(0.2)) pairs.push(['fieldValidation', random.pick(['Strict', 'Warn', 'Ignore', 'x'])]);
  return query(pairs);
}

function yamlOf(text: string): string {
  try {
    return stringify(JSON.parse(text), { aliasDuplicateObjects: false });
  } catch {
    return text;
  }
}

/** JSON, or YAML of the same, and sometimes neither. */
function bodyOf(random: SeededRandom, text: string): Buffer {
  const isShort = text.length < 20_000;
  const written = Buffer.from(isShort && random.chance(0.3) ? yamlOf(text) : text);
  if (random.chance(0.95)) return written;
  return random.one(
    () => mutateBytes(random, written),
    () => hostileJsonBody(random, (value) => text.replace(/\{\}|null/, () => value)),
    () => Buffer.from(jsonText(random, 3)),
  );
}

function apply(random: SeededRandom, target: string, text: string): WireRequest {
  const type = random.chance(0.98)
    ? applyType
    : random.pick([`${applyType}; charset=utf-16`, 'application/apply-patch+json']);
  return typed(json('PATCH', target + search(random), bodyOf(random, text)), type);
}

/** A write of another type, so that an apply meets what it made. */
function otherWrite(random: SeededRandom, one: string, text: string): WireRequest {
  const manager = `?fieldManager=${random.pick(['u', 'v', 'kubectl'])}`;
  return random.one(
    () => json('PUT', one + manager, text),
    () => typed(json('PATCH', one + manager, text), 'application/merge-patch+json'),
    () =>
      typed(
        json('PATCH', one + manager, JSON.stringify({ metadata: { annotations: { [lastApplied]: text } } })),
        'application/merge-patch+json',
      ),
    () => typed(json('PATCH', one, '[{"op":"remove","path":"/spec"}]'), 'application/json-patch+json'),
    () => json('PUT', `${one}/status${manager}`, text),
  );
}

function applyShape(random: SeededRandom, shapes: string, name: string): WireRequest {
  const version = random.chance(0.8) ? 'v1' : 'v2';
  const one = `${shapes.replace('/v1/', `/${version}/`)}/${name}`;
  const text = shapeText(random, version, name);
  if (random.chance(0.2)) return otherWrite(random, one, text);
  if (random.chance(0.05)) {
    const scale = `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"${name}"},"spec":{"replicas":${random.pick(['0', '3', '"3"', 'null', '-1'])}}}`;
    return apply(random, `${one}/scale`, scale);
  }
  return apply(random, one + (random.chance(0.1) ? '/status' : ''), text);
}

interface Applied {
  collection: string;
  write: (random: SeededRandom, name: string) => WireRequest;
}

function pickApplied(random: SeededRandom, { shapes, frees }: FuzzTargets): Applied {
  if (random.chance(0.8)) return { collection: shapes, write: (each, name) => applyShape(each, shapes, name) };
  if (random.chance(0.5)) {
    const text = (each: SeededRandom, name: string): string =>
      `{"apiVersion":"${group}/v1","kind":"Free","metadata":{"name":"${name}"},"spec":${jsonText(each, 5)}}`;
    return { collection: frees, write: (each, name) => apply(each, `${frees}/${name}`, text(each, name)) };
  }
  const kind = pickKind(random, builtInKinds);
  const text = (each: SeededRandom, name: string): string => {
    const { data, rules, spec, ...head } = builtInObject(kind, name);
    const own =
      { ConfigMap: { data }, Secret: { data }, Lease: { spec }, Role: { rules } }[kind.model.names.kind] ?? {};
    return JSON.stringify(each.chance(0.8) ? { ...head, ...own } : { ...head, data, rules, spec });
  };
  return { collection: kind.path, write: (each, name) => apply(each, `${kind.path}/${name}`, text(each, name)) };
}

/** Server-side applies by several managers, among other writes, and what is read then. */
export const applies: AttackArea = {
  name: 'applies',
  weight: 8,
  generate(random, fixtures) {
    const name = caseName(random);
    const { collection, write } = pickApplied(random, fixtures);
    const writes = Array.from({ length: random.between(1, 4) }, () => write(random, name));
    return { changes: 'maybe', ...writeAndRead(random, { collection, name, writes }) };
  },
};
