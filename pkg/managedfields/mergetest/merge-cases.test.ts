import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { decodeYaml } from '#pkg/apimachinery/index';
import { readMergeCases, runMergeCase } from './run-merge-case.ts';

const folder = new URL('cases/', import.meta.url);

describe.each(readdirSync(folder))('%s', (file) => {
  const { type, cases } = readMergeCases(decodeYaml(readFileSync(new URL(file, folder))).value);

  test.each(cases.map((mergeCase) => [mergeCase.name, mergeCase] as const))('%s', (_, mergeCase) => {
    const { spec, owners, refusals } = runMergeCase(mergeCase, type);
    expect(refusals).toEqual(
      mergeCase.steps.map(({ conflicts, refused }) =>
        conflicts === undefined && refused === undefined
          ? undefined
          : { ...(conflicts === undefined ? {} : { conflicts }), ...(refused === undefined ? {} : { refused }) },
      ),
    );
    expect({ spec, owners }).toEqual({ spec: mergeCase.spec, owners: mergeCase.owners });
  });
});
