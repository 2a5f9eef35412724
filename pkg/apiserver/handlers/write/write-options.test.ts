import { describe, expect, test } from '@jest/globals';
import { parseDeleteOptions, type DeleteParameters } from './delete-options.ts';
import { parseWriteOptions } from './write-options.ts';

describe('write options', () => {
  test.each([
    ['', { dryRun: false, fieldValidation: 'Warn', fieldManager: '' }],
    [
      'dryRun=All&fieldValidation=Strict&fieldManager=me',
      { dryRun: true, fieldValidation: 'Strict', fieldManager: 'me' },
    ],
    ['fieldValidation=&pretty=true&unknown=1&unknown=2', { dryRun: false, fieldValidation: 'Warn', fieldManager: '' }],
    ['fieldValidation=Ignore', { dryRun: false, fieldValidation: 'Ignore', fieldManager: '' }],
  ])('%p', (query, options) => {
    expect(parseWriteOptions(new URLSearchParams(query), 'CreateOptions')).toEqual(options);
  });

  test.each([
    [
      'fieldValidation=Zzz',
      'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Zzz": supported values: "", "Ignore", "Strict", "Warn"',
    ],
    [
      'dryRun=Some',
      'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: "Some": supported values: "All"',
    ],
    ['dryRun=', 'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: "": supported values: "All"'],
    [
      `fieldManager=${'m'.repeat(129)}`,
      'CreateOptions.meta.k8s.io "" is invalid: fieldManager: Too long: may not be more than 128 bytes',
    ],
    [
      'fieldManager=a%00b',
      'CreateOptions.meta.k8s.io "" is invalid: fieldManager: Invalid value: "a\\u0000b": should only contain printable characters',
    ],
  ])('%p is a 422', (query, message) => {
    expect(() => parseWriteOptions(new URLSearchParams(query), 'CreateOptions')).toThrow(
      expect.objectContaining({ code: 422, message }),
    );
  });

  test.each(['dryRun=All&dryRun=All', 'fieldValidation=Warn&fieldValidation=Strict', 'fieldManager=a&fieldManager=b'])(
    '%p is a 400: given twice',
    (query) => {
      expect(() => parseWriteOptions(new URLSearchParams(query), 'PatchOptions')).toThrow(
        expect.objectContaining({ code: 400 }),
      );
    },
  );
});

function parse(query: string, body: unknown): Promise<DeleteParameters> {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return parseDeleteOptions(new URLSearchParams(query), {
    bytes,
    isYaml: false,
    memory: { parse: () => Promise.resolve(() => {}) },
  });
}

describe('delete options', () => {
  test.each([
    ['no body', '', '', { write: { dryRun: false }, preconditions: {} }],
    ['what kubectl sends', '', { propagationPolicy: 'Background' }, { propagationPolicy: 'Background' }],
    [
      'what client-go sends',
      '',
      { kind: 'DeleteOptions', apiVersion: 'blog.example.com/v1', preconditions: { uid: 'u', resourceVersion: '5' } },
      { preconditions: { uid: 'u', resourceVersion: '5' } },
    ],
    ['only the query', 'propagationPolicy=Orphan&gracePeriodSeconds=0', '', { propagationPolicy: 'Orphan' }],
    [
      'the body wins',
      'propagationPolicy=Orphan',
      { propagationPolicy: 'Foreground' },
      { propagationPolicy: 'Foreground' },
    ],
    ['a dry run in the body', '', { dryRun: ['All'] }, { write: { dryRun: true } }],
    ['a dry run in the query, with a body', 'dryRun=All', { gracePeriodSeconds: 30 }, { write: { dryRun: true } }],
    ['the deprecated orphanDependents', '', { orphanDependents: true }, { propagationPolicy: 'Orphan' }],
    [
      'nulls count as absent',
      '',
      { preconditions: null, dryRun: null, propagationPolicy: null, gracePeriodSeconds: null, orphanDependents: null },
      { preconditions: {} },
    ],
    ['unknown fields', '', { somethingElse: 1 }, { preconditions: {} }],
  ])('%s', async (_reason, query, body, options) => {
    await expect(parse(query, body)).resolves.toMatchObject(options);
  });

  test.each([
    ['no JSON', 400, '{'],
    ['no object', 400, []],
    ['another kind', 400, { kind: 'Post' }],
    ['a kind that is not a string', 400, { kind: 5 }],
    ['a uid that is not a string', 400, { preconditions: { uid: 5 } }],
    ['preconditions that are not an object', 400, { preconditions: 'x' }],
    ['a dry run that is not a list', 400, { dryRun: 'All' }],
    ['a negative grace period', 400, { gracePeriodSeconds: -1 }],
    ['an unknown dry run', 422, { dryRun: ['Some'] }],
    ['an unknown policy', 422, { propagationPolicy: 'Now' }],
    ['two options with the same meaning', 422, { propagationPolicy: 'Orphan', orphanDependents: true }],
  ])('%s is a %i', async (_reason, code, body) => {
    await expect(parse('', body)).rejects.toMatchObject({ code });
  });
});
