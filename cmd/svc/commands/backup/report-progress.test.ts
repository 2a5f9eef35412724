import { expect, test } from '@jest/globals';
import { newProgress, type Progress } from '#pkg/backup/index';
import { progressLine } from './report-progress.ts';

const lines: { reason: string; progress: Partial<Progress>; fraction?: number; seconds: number; line: string }[] = [
  { reason: 'nothing has been moved', progress: {}, seconds: 0, line: 'starting' },
  {
    reason: 'an unknown total',
    progress: { stage: 'rows', rows: 1234567, bytes: 12e6 },
    seconds: 3,
    line: '1 234 567 rows  12 MB',
  },
  {
    reason: 'a quarter',
    progress: { stage: 'rows', rows: 999, bytes: 1e9 },
    fraction: 0.25,
    seconds: 10,
    line: '[######..................]  25 %  999 rows  1 000 MB  30 s left',
  },
  {
    reason: 'too early to say',
    progress: { stage: 'rows' },
    fraction: 0.001,
    seconds: 1,
    line: '[........................]   0 %  0 rows  0 MB',
  },
  {
    reason: 'more than expected',
    progress: { stage: 'rows', rows: 5 },
    fraction: 1.2,
    seconds: 1000,
    line: '[#######################.]  99 %  5 rows  0 MB  2 s left',
  },
  {
    reason: 'long',
    progress: { stage: 'rows' },
    fraction: 0.01,
    seconds: 60,
    line: '[........................]   1 %  0 rows  0 MB  99 min left',
  },
  {
    reason: 'indexes',
    progress: { stage: 'indexes', indexes: 3, expectedIndexes: 4 },
    seconds: 1,
    line: '[##################......]  75 %  3 of 4 indexes',
  },
  {
    reason: 'no indexes',
    progress: { stage: 'indexes' },
    seconds: 1,
    line: '[########################] 100 %  0 of 0 indexes',
  },
  { reason: 'the end', progress: { stage: 'finishing' }, seconds: 1, line: 'finishing' },
];

test.each(lines)('$reason', ({ progress, fraction, seconds, line }) => {
  expect(progressLine({ ...newProgress(), ...progress }, fraction, seconds)).toBe(line);
});
