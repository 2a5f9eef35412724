import { describe, expect, test } from '@jest/globals';
import { decodePresets } from './decode-presets.ts';

const decode = (text: string, file = 'presets/a.yaml') => decodePresets(file, Buffer.from(text));
const object = (name: string, more = '') => `apiVersion: v1\nkind: Widget\nmetadata:\n  name: ${name}\n${more}`;
const names = async (text: string, file?: string) =>
  (await decode(text, file)).map(({ document, object: { metadata } }) => [document, metadata.name]);

describe('a file of presets', () => {
  test.each([
    ['nothing', '', []],
    ['comments alone', '# nothing\n\n', []],
    ['one', object('a'), ['a']],
    ['one that begins with ---', `---\n${object('a')}`, ['a']],
    ['two', `${object('a')}---\n${object('b')}`, ['a', 'b']],
    [
      'empty ones between',
      `# licence\n---\n\n---\n${object('a')}\n---\n# none\n---\n${object('b')}\n---\n`,
      ['a', 'b'],
    ],
    ['a comment after ---', `--- # first\n${object('a')}`, ['a']],
    ['the object on the line of ---', '--- {apiVersion: v1, kind: Widget, metadata: {name: a}}', ['a']],
    ['line ends of Windows', `${object('a')}---\n${object('b')}`.replaceAll('\n', '\r\n'), ['a', 'b']],
    ['an end mark and a directive', `${object('a')}...\n%YAML 1.2\n---\n${object('b')}...\n`, ['a', 'b']],
    ['--- within a text', object('a', 'spec:\n  text: |\n    one\n    ---\n    two\n  other: x---\n'), ['a']],
    ['a byte order mark', `\uFEFF${object('a')}`, ['a']],
    ['JSON in YAML', '{"apiVersion": "v1", "kind": "Widget", "metadata": {"name": "a"}}', ['a']],
  ])('%s', async (_case, text, expected) => {
    expect(await names(text)).toEqual(expected.map((name, i) => [i + 1, name]));
  });

  test('a JSON file is one document', async () => {
    expect(await names('{"apiVersion": "v1", "kind": "Widget", "metadata": {"name": "a"}}', 'presets/a.json')).toEqual([
      [1, 'a'],
    ]);
  });
});

test('a long line of white space is read fast', async () => {
  const since = performance.now();
  expect(await names(`${' '.repeat(100_000)}#\n---\n${object('a')}# ${' '.repeat(100_000)}!\n`)).toEqual([[1, 'a']]);
  await expect(decode(`${' '.repeat(100_000)}!`)).rejects.toMatchObject({ reason: 'PresetsInvalid' });
  expect(performance.now() - since).toBeLessThan(10_000);
});

test('fields of the author are kept, fields of the server are dropped', async () => {
  const exported = object(
    'a',
    '  namespace: n\n  labels: {x: y}\n  annotations: {p: q}\n  finalizers: [example.com/f]\n  uid: u\n  resourceVersion: "5"\n  generation: 2\n  creationTimestamp: null\n  managedFields: []\nspec: {size: 1}\ndata: {k: v}\n',
  );
  const [preset] = await decode(exported);
  expect(preset!.object).toEqual({
    apiVersion: 'v1',
    kind: 'Widget',
    metadata: { name: 'a', namespace: 'n', labels: { x: 'y' }, annotations: { p: 'q' }, finalizers: ['example.com/f'] },
    spec: { size: 1 },
    data: { k: 'v' },
  });
});

describe('is refused, with its position', () => {
  test.each([
    ['no object', '- a', 'it must be an object'],
    ['a text', 'hello', 'it must be an object'],
    ['null', '~', 'it must be an object'],
    ['no apiVersion', 'kind: A\nmetadata: {name: a}', 'apiVersion must be <group>/<version>'],
    [
      'apiVersion of three parts',
      'apiVersion: a/b/c\nkind: A\nmetadata: {name: a}',
      'apiVersion must be <group>/<version>',
    ],
    ['no kind', 'apiVersion: v1\nmetadata: {name: a}', 'kind must be the name of a kind'],
    ['a kind that is a number', 'apiVersion: v1\nkind: 7\nmetadata: {name: a}', 'kind must be the name of a kind'],
    ['no metadata', 'apiVersion: v1\nkind: A', 'metadata.name is missing'],
    ['no name', 'apiVersion: v1\nkind: A\nmetadata: {labels: {a: b}}', 'metadata.name is missing'],
    ['an empty name', 'apiVersion: v1\nkind: A\nmetadata: {name: ""}', 'metadata.name is missing'],
    ['generateName', 'apiVersion: v1\nkind: A\nmetadata: {generateName: a-}', 'metadata.generateName may not be'],
    [
      'owners',
      'apiVersion: v1\nkind: A\nmetadata: {name: a, ownerReferences: []}',
      'metadata.ownerReferences may not be',
    ],
    [
      'a misspelt field',
      'apiVersion: v1\nkind: A\nmetadata: {name: a, lables: {}}',
      'the field metadata.lables is not known',
    ],
    ['metadata that is a list', 'apiVersion: v1\nkind: A\nmetadata: []', 'cannot unmarshal array'],
    [
      'a label that is a number',
      'apiVersion: v1\nkind: A\nmetadata: {name: a, labels: {x: 1}}',
      'cannot unmarshal number',
    ],
    [
      'a field given twice',
      'apiVersion: v1\nkind: A\nmetadata: {name: a}\nspec: {b: 1, b: 2}',
      'the field spec.b is given twice',
    ],
    [
      'a name of the prototype',
      'apiVersion: v1\nkind: A\nmetadata: {name: a}\nspec: {__proto__: {x: 1}}',
      'the field spec.__proto__ may not be',
    ],
    ['broken YAML', 'apiVersion: [', 'it is not valid YAML: line 2'],
    ['a tag', 'apiVersion: !x v1', 'it '],
    [
      'an integer that cannot be kept',
      'apiVersion: v1\nkind: A\nmetadata: {name: a}\nspec: {n: 9007199254740993}',
      '9007199254740993',
    ],
    ['a deep one', `${'['.repeat(200)}${']'.repeat(200)}`, 'levels'],
    [
      'a label of the platform among the annotations',
      'apiVersion: v1\nkind: A\nmetadata: {name: a, annotations: {svc.run/do-not-overwrite: "true"}}',
      'metadata.annotations: "svc.run/do-not-overwrite" has no effect here: it is a label',
    ],
    [
      'an annotation of the platform among the labels',
      'apiVersion: v1\nkind: A\nmetadata: {name: a, labels: {svc.run/served-versions: v1}}',
      'metadata.labels: "svc.run/served-versions" has no effect here: it is an annotation',
    ],
    [
      'a label of the platform with a value that means nothing',
      'apiVersion: v1\nkind: A\nmetadata: {name: a, labels: {svc.run/do-not-overwrite: "yes"}}',
      'has an effect with the value "true" only',
    ],
    ['two documents without ---', 'a: b\n...\nc: d', 'more YAML documents than expected'],
  ])('%s', async (_case, text, message) => {
    const broken = decode(`${object('good')}---\n${text}`);
    await expect(broken).rejects.toMatchObject({
      name: 'PluginError',
      reason: 'PresetsInvalid',
      message: expect.stringMatching(/^presets\/a\.yaml, document 2: /),
    });
    await expect(broken).rejects.toThrow(message);
  });

  test('a file that is not UTF-8', async () => {
    await expect(decodePresets('presets/a.yaml', Buffer.from([0x61, 0xff]))).rejects.toThrow(
      'presets/a.yaml, document 1: it is not valid UTF-8',
    );
  });

  test('broken JSON', async () => {
    await expect(decode('{"a": }', 'presets/a.json')).rejects.toThrow(
      'presets/a.json, document 1: it is not valid JSON',
    );
  });

  test('more objects than allowed', async () => {
    const many = Array.from({ length: 1001 }, (_, i) => `{apiVersion: v1, kind: A, metadata: {name: a${i}}}`).join(
      '\n---\n',
    );
    await expect(decode(many)).rejects.toThrow(
      'presets/a.yaml, document 1001: a plugin may ship 1000 objects, and no more',
    );
  });
});
