import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isPluginError } from '../plugin-error.ts';
import { parseManifest } from './read-manifest.ts';

const good = `
apiVersion: plugin.svc.run/v1alpha1
kind: Plugin
metadata: { name: blog }
spec:
  version: 1.2.3-rc.1+build.5
  requires: '>=2.22.0'
  dependencies: { images: ^1.0.0 }
  environment: [HTTP_PROXY]
  limits: { memoryMiB: 256 }
  settings: { apiVersion: blog.example.com/v1, kind: Settings, name: blog }
  enabled: true
`;

function messageFor(text: string): string {
  try {
    parseManifest(Buffer.from(text));
  } catch (error) {
    if (isPluginError(error)) return `${error.reason}: ${error.message}`;
    throw error;
  }
  return 'nothing';
}

/** The valid manifest with another spec; one line of YAML. */
function withSpec(spec: string): string {
  return `{ apiVersion: plugin.svc.run/v1alpha1, kind: Plugin, metadata: { name: blog }, spec: ${spec} }`;
}

test('a valid manifest is parsed unchanged', () => {
  expect(parseManifest(Buffer.from(good))).toEqual({
    name: 'blog',
    spec: {
      version: '1.2.3-rc.1+build.5',
      requires: '>=2.22.0',
      dependencies: { images: '^1.0.0' },
      environment: ['HTTP_PROXY'],
      limits: { memoryMiB: 256 },
      settings: { apiVersion: 'blog.example.com/v1', kind: 'Settings', name: 'blog' },
      enabled: true,
    },
  });
});

describe('a mistake is named', () => {
  const cases: [string, string, string][] = [
    ['no object', '- a', 'ManifestInvalid: plugin.yaml: it must hold an object'],
    ['no YAML', 'a: [', 'ManifestInvalid: plugin.yaml: it is not valid YAML: line 1'],
    ['nothing', '', 'plugin.yaml: it holds no YAML document'],
    [
      'an empty object',
      '{}',
      'plugin.yaml: apiVersion is missing; kind is missing; metadata is missing; spec is missing',
    ],
    ['another kind', good.replace('kind: Plugin', 'kind: Post'), 'kind must be one of "Plugin"'],
    ['another apiVersion', good.replace('v1alpha1', 'v1'), 'apiVersion must be one of "plugin.svc.run/v1alpha1"'],
    [
      'an unknown field',
      withSpec('{ version: 1.0.0, dependencys: {} }'),
      'spec.dependencys is no field of a plugin; did you mean dependencies?',
    ],
    [
      'an unknown field without a similar name',
      withSpec('{ version: 1.0.0, author: me }'),
      'spec.author is no field of a plugin',
    ],
    ['a status', `${good}status: {}`, 'status is no field of a plugin'],
    [
      'metadata that an author cannot set',
      good.replace('name: blog', 'name: blog, uid: x'),
      'metadata.uid is no field of a plugin',
    ],
    ['a field twice', `${good}kind: Plugin\n`, 'kind is there twice'],
    ['a prototype key', withSpec('{ version: 1.0.0, __proto__: 1 }'), 'spec.__proto__ is no field of a plugin'],
    ['a bad name', good.replace('name: blog', 'name: Blog'), 'metadata.name must consist of lower case'],
    [
      'a long name',
      good.replace('name: blog', `name: ${'a'.repeat(64)}`),
      'metadata.name must be no more than 63 characters',
    ],
    ['no version', withSpec('{}'), 'spec.version is missing'],
    ['a version that is a number', withSpec('{ version: 1.0 }'), 'spec.version must be a string, not number'],
    [
      'a version with v',
      withSpec('{ version: v1.0.0 }'),
      'spec.version must be a semantic version, such as 1.0.0, not "v1.0.0"',
    ],
    ['a version of two parts', withSpec('{ version: "1.0" }'), 'spec.version must be a semantic version'],
    [
      'an invalid range',
      withSpec('{ version: 1.0.0, requires: newest }'),
      'spec.requires must be a range of semantic versions, such as >=1.2.0 or ^1.2.0, not "newest"',
    ],
    [
      'a dependency with an invalid range',
      withSpec('{ version: 1.0.0, dependencies: { a: x.y.z.q } }'),
      'spec.dependencies.a must be a range',
    ],
    [
      'a dependency on itself',
      withSpec('{ version: 1.0.0, dependencies: { blog: "*" } }'),
      'spec.dependencies names the plugin itself, blog',
    ],
    [
      'a dependency with an invalid name',
      withSpec('{ version: 1.0.0, dependencies: { A/B: "*" } }'),
      'spec.dependencies names "A/B", which cannot be a plugin\'s name',
    ],
    [
      'a variable with an invalid name',
      withSpec('{ version: 1.0.0, environment: [ "A=b" ] }'),
      'spec.environment[0] must be the name of an environment variable, not "A=b"',
    ],
    [
      'a variable of the server',
      withSpec('{ version: 1.0.0, environment: [ NODE_OPTIONS ] }'),
      'spec.environment[0] cannot be NODE_OPTIONS',
    ],
    [
      'a limit that is too small',
      withSpec('{ version: 1.0.0, limits: { memoryMiB: 1 } }'),
      'spec.limits.memoryMiB must be from 16 to 4096',
    ],
    [
      'a limit that is not an integer',
      withSpec('{ version: 1.0.0, limits: { startSeconds: 1.5 } }'),
      'spec.limits.startSeconds must be an integer, not number',
    ],
    [
      'a rule without verbs',
      withSpec('{ version: 1.0.0, permissions: [ { apiGroups: [a], resources: [b] } ] }'),
      'spec.permissions[0].verbs is missing',
    ],
    [
      'a rule with a number',
      withSpec('{ version: 1.0.0, permissions: [ { apiGroups: [1], resources: [b], verbs: [c] } ] }'),
      'spec.permissions[0].apiGroups[0] must be a string, not number',
    ],
    [
      'a text that is too long',
      withSpec(`{ version: 1.0.0, displayName: ${'a'.repeat(101)} }`),
      'spec.displayName is longer than 100 characters',
    ],
    [
      'settings without a name',
      withSpec('{ version: 1.0.0, settings: { apiVersion: a/v1, kind: B } }'),
      'spec.settings.name is missing',
    ],
    ['a list instead of a map', withSpec('[]'), 'spec must be an object, not array'],
    [
      'more than ten mistakes',
      withSpec(`{ version: 1.0.0, ${Array.from({ length: 15 }, (_, i) => `x${i}: 1`).join(', ')} }`),
      '; and 5 more',
    ],
  ];
  test.each(cases)('%s', (_case, text, message) => {
    expect(messageFor(text)).toContain(message);
  });
});

test('any file gives a manifest or a PluginError', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.json({ maxDepth: 5 }), fc.json().map(withSpec)), (text) => {
      expect(typeof messageFor(text)).toBe('string');
    }),
    { numRuns: 300 },
  );
});
