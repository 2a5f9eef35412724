import { describe, expect, test } from '@jest/globals';

import { metadataCountCauses, validateObjectMeta, type ObjectMetaOptions } from './object-meta.ts';

const token = `pat_${'a'.repeat(36)}`;
const options: ObjectMetaOptions = { nameRule: 'model', namespaced: false, isCredential: (text) => text === token };

function causesOf(meta: object, changed: Partial<ObjectMetaOptions> = {}): string[] {
  return validateObjectMeta({ name: 'a', ...meta }, { ...options, ...changed }).causes.map(
    (cause) => `${cause.field}: ${cause.message}`,
  );
}

describe('validateObjectMeta', () => {
  test('has no causes for valid metadata', () => {
    const meta = {
      name: 'hello-world',
      labels: {
        app: 'web',
        'example.com/Tier_1': '',
        'svc.run/plugin': 'blog',
        'svc.run/do-not-overwrite': 'true',
        'notsvc.run/x': 'y',
        'svc.run': 'x',
      },
      annotations: {
        'example.com/note': 'any text,\n of any kind: pat_x',
        'kubectl.kubernetes.io/last-applied-configuration': '{}',
      },
      finalizers: ['example.com/cleanup', 'foregroundDeletion'],
      ownerReferences: [
        { apiVersion: 'v1', kind: 'A', name: 'a', uid: 'u', controller: true },
        { apiVersion: 'v1', kind: 'B', name: 'b', uid: 'v' },
      ],
    };
    expect(validateObjectMeta(meta, options)).toEqual({ causes: [], warnings: [] });
  });

  test('annotations may have 256 KiB in total, including keys', () => {
    expect(causesOf({ annotations: { a: 'x'.repeat(256 * 1024 - 1) } })).toEqual([]);
    expect(causesOf({ annotations: { a: 'x'.repeat(256 * 1024) } })).toHaveLength(1);
  });

  test.each<[object, string, string]>([
    [{ name: '' }, 'metadata.name: Required value: name or generateName is required', 'no name'],
    [{ name: 'Hello' }, 'metadata.name: Invalid value: "Hello": must consist of lower case', 'capitals'],
    [{ name: 'a', generateName: '-a-' }, 'metadata.generateName: Invalid value: "-a-"', 'a bad prefix'],
    [
      { namespace: 'x' },
      'metadata.namespace: Forbidden: not allowed on this type',
      'a namespace on a cluster-scoped object',
    ],
    [{ labels: { 'a/b/c': '' } }, 'metadata.labels: Invalid value: "a/b/c"', 'two slashes'],
    [
      { labels: { '/b': '' } },
      'metadata.labels: Invalid value: "/b": prefix part must be non-empty',
      'an empty prefix',
    ],
    [{ labels: { 'a/': '' } }, 'metadata.labels: Invalid value: "a/": name part must be non-empty', 'an empty name'],
    [{ labels: { '': '' } }, 'metadata.labels: Invalid value: "": name part must be non-empty', 'an empty key'],
    [{ labels: { 'A.com/b': '' } }, 'metadata.labels: Invalid value: "A.com/b": prefix part', 'a prefix in capitals'],
    [{ labels: { ['a'.repeat(64)]: '' } }, 'metadata.labels: Invalid value', 'a long key'],
    [{ labels: { a: '-x' } }, 'metadata.labels: Invalid value: "-x": a valid label must be', 'a bad value'],
    [{ labels: { a: 'x'.repeat(64) } }, 'metadata.labels: Invalid value', 'a long value'],
    [
      { labels: { 'svc.run/other': '' } },
      'metadata.labels: Forbidden: the key "svc.run/other" is under a domain reserved',
      'a reserved key',
    ],
    [
      { annotations: { 'x.svc.run/plugin': '' } },
      'metadata.annotations: Forbidden: the key "x.svc.run/plugin"',
      'a reserved domain below',
    ],
    [{ annotations: { 'a b': '' } }, 'metadata.annotations: Invalid value: "a b"', 'a space in a key'],
    [
      { annotations: { a: 'ü'.repeat(131_072) } },
      'metadata.annotations: Too long: may not be more than 262144 bytes',
      'too much in sum',
    ],
    [{ labels: { a: token } }, 'metadata.labels: Forbidden: the value of "a" holds a credential', 'a credential'],
    [{ labels: { [token]: '' } }, 'metadata.labels: Forbidden: a key holds a credential', 'a credential as a key'],
    [
      { annotations: { a: `x pat_${'b'.repeat(36)}\n{"token":"${token}"}` } },
      'metadata.annotations: Forbidden: the value of "a" holds a credential',
      'a credential inside',
    ],
    [{ finalizers: ['a/b', 'a b'] }, 'metadata.finalizers[1]: Invalid value: "a b"', 'a bad finalizer'],
    [{ finalizers: ['a/b', 'a/b'] }, 'metadata.finalizers[1]: Duplicate value: "a/b"', 'a finalizer twice'],
    [
      { ownerReferences: [{ apiVersion: 'v1', kind: 'A', name: 'a' }] },
      'metadata.ownerReferences[0].uid: Required value',
      'an owner without uid',
    ],
    [
      { labels: Object.fromEntries(Array.from({ length: 257 }, (_, i) => [`k${i}`, ''])) },
      'metadata.labels: Too many: 257',
      'too many labels',
    ],
    [
      { finalizers: Array.from({ length: 65 }, (_, i) => `a/b${i}`) },
      'metadata.finalizers: Too many: 65',
      'too many finalizers',
    ],
  ])('one cause, case %#', (meta, expected, _reason) => {
    const causes = causesOf(meta);
    expect(causes).toHaveLength(1);
    expect(causes[0]).toContain(expected);
    expect(causes[0]).not.toContain(token);
  });

  test.each<[object, string, string]>([
    [
      { annotations: { 'svc.run/do-not-overwrite': 'true' } },
      'metadata.annotations: "svc.run/do-not-overwrite" has no effect here: it is a label, which belongs into metadata.labels',
      'a label among the annotations',
    ],
    [
      { annotations: { 'svc.run/plugin': 'blog' } },
      'metadata.annotations: "svc.run/plugin" has no effect here: it is a label, which belongs into metadata.labels',
      'another',
    ],
    [
      { labels: { 'svc.run/served-versions': 'v1' } },
      'metadata.labels: "svc.run/served-versions" has no effect here: it is an annotation, which belongs into metadata.annotations',
      'an annotation among the labels',
    ],
    [
      { labels: { 'svc.run/organization': 'a' } },
      'metadata.labels: "svc.run/organization" has no effect here: it is an annotation, which belongs into metadata.annotations',
      'another',
    ],
    [
      { labels: { 'svc.run/resume-position': 'a' } },
      'metadata.labels: "svc.run/resume-position" has no effect here: it is an annotation, which belongs into metadata.annotations',
      'another',
    ],
    [
      { labels: { 'svc.run/endpoint-key': 'a' } },
      'metadata.labels: "svc.run/endpoint-key" has no effect here: it is an annotation, which belongs into metadata.annotations',
      'another',
    ],
    [
      { finalizers: ['svc.run/do-not-overwrite'] },
      'metadata.finalizers: "svc.run/do-not-overwrite" has no effect here: it is a label, which belongs into metadata.labels',
      'a label among the finalizers',
    ],
    [
      { labels: { 'svc.run/do-not-overwrite': 'yes' } },
      'metadata.labels: "svc.run/do-not-overwrite" has an effect with the value "true" only',
      'a value without a meaning',
    ],
  ])('warns about a platform key that has no effect, case %#', (meta, warning, _reason) => {
    expect(validateObjectMeta({ name: 'a', ...meta }, options)).toEqual({ causes: [], warnings: [warning] });
  });

  test('does not warn about a platform key in its place', () => {
    const meta = {
      name: 'a',
      labels: { 'svc.run/do-not-overwrite': 'false' },
      annotations: {
        'svc.run/served-versions': 'v1',
        'svc.run/organization': 'a',
        'svc.run/awaits-quota': 'true',
        'svc.run/resume-position': '1',
        'svc.run/endpoint-key': 'k',
      },
    };
    expect(validateObjectMeta(meta, options)).toEqual({ causes: [], warnings: [] });
  });

  test('depends on scope, rule and field', () => {
    expect(causesOf({}, { namespaced: true })).toEqual(['metadata.namespace: Required value']);
    expect(causesOf({ namespace: 'A' }, { namespaced: true })[0]).toContain(
      'metadata.namespace: Invalid value: "A": a lowercase RFC 1123 label',
    );
    expect(causesOf({ name: 'system:view' }, { nameRule: 'path-segment' })).toEqual([]);
    expect(causesOf({ name: '' }, { field: 'spec.template.metadata' })[0]).toMatch(/^spec\.template\.metadata\.name: /);
    expect(causesOf({ name: '', generateName: 'post-' })).toEqual([]);
  });

  test('allows at most one controller', () => {
    const owner = { apiVersion: 'v1', kind: 'A', name: 'a', uid: 'u', controller: true };
    expect(causesOf({ ownerReferences: [owner, owner] })).toEqual([
      'metadata.ownerReferences: Invalid value: ["A/a","A/a"]: only one reference can have controller set to true',
    ]);
  });

  test('warns about new finalizers without a domain or a path', () => {
    const meta = { name: 'a', finalizers: ['cleanup', 'cleanup.example.com'] };
    const { causes, warnings } = validateObjectMeta(meta, options);
    expect(causes).toEqual([]);
    const conflicts = 'to avoid accidental conflicts with other finalizer writers';
    expect(warnings).toEqual([
      `metadata.finalizers: "cleanup": prefer a domain-qualified finalizer name ${conflicts}`,
      `metadata.finalizers: "cleanup.example.com": prefer a domain-qualified finalizer name including a path (/) ${conflicts}`,
    ]);
    const old = { name: 'a', finalizers: ['cleanup'] };
    expect(validateObjectMeta(meta, { ...options, old }).warnings).toEqual([warnings[1]]);
  });

  test('gives at most 100 causes, and skips wrong types', () => {
    expect(
      causesOf({ annotations: Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`-${i}`, ''])) }),
    ).toHaveLength(100);
    for (const meta of [
      null,
      1,
      [],
      { name: 1, labels: [], annotations: 1, finalizers: {}, ownerReferences: [1, null] },
    ]) {
      expect(() => validateObjectMeta(meta, options)).not.toThrow();
    }
  });
});

describe('metadataCountCauses', () => {
  const map = (count: number): Record<string, number> =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]));
  test.each<[object, string]>([
    [{ labels: map(257) }, 'metadata.labels: Too many: 257: must have at most 256 items'],
    [{ annotations: map(10_001) }, 'metadata.annotations: Too many: 10001: must have at most 10000 items'],
    [
      { finalizers: Array.from({ length: 65 }, () => 1) },
      'metadata.finalizers: Too many: 65: must have at most 64 items',
    ],
    [
      { ownerReferences: Array.from({ length: 257 }, () => null) },
      'metadata.ownerReferences: Too many: 257: must have at most 256 items',
    ],
  ])('refuses too many entries, whatever their values, case %#', (meta, expected) => {
    expect(metadataCountCauses(meta).map((cause) => `${cause.field}: ${cause.message}`)).toEqual([expected]);
  });

  test('has no causes for other shapes, or for the allowed number', () => {
    for (const meta of [
      undefined,
      null,
      1,
      [],
      { labels: [], annotations: 'x', finalizers: {}, ownerReferences: 1 },
      { labels: map(256), finalizers: [] },
    ]) {
      expect(metadataCountCauses(meta)).toEqual([]);
    }
  });
});
