import { describe, expect, test } from '@jest/globals';
import { findLosses, type LossRecord, type ServerRecord } from './losses.ts';

const gap = { after: 10, upTo: 1000 };

function recordOf(server: Partial<ServerRecord>): LossRecord {
  return {
    servers: [{ name: 'a', acknowledged: [], followers: [], rebuilds: [], ends: [], ...server }],
    changes: [{ began: 100, gap }],
    log: new Set([9, 10, 1001]),
  };
}

const lostWrite = { name: 'w1', marker: 'w1-write-1', revision: 12, at: 99 };
const told = { sightings: new Map([['w1 at 12', 'w1-write-1']]), resets: [{ at: 105, position: 12 }] };
const untold = { ...told, resets: [] };

describe('losses of asynchronous failovers', () => {
  test('a lost write that everybody was told of is counted, and is no violation', () => {
    expect(findLosses(recordOf({ acknowledged: [lostWrite], followers: [told], rebuilds: [{ at: 104 }] }))).toEqual({
      lost: [lostWrite],
      resets: 1,
      rebuilds: 1,
      violations: [],
    });
  });

  test.each<[string, LossRecord, string]>([
    [
      'a follower that was not told',
      recordOf({ followers: [untold], rebuilds: [{ at: 104 }] }),
      'was not answered 410',
    ],
    ['a server that went on', recordOf({ acknowledged: [lostWrite] }), 'and went on'],
    ['a rebuild for nothing', recordOf({ rebuilds: [{ at: 104 }] }), 'lost nothing that it knew'],
    ['a server that ended', recordOf({ ends: [{ at: 104 }] }), 'a ended 1 times'],
    [
      'a 410 for a revision that exists',
      recordOf({ followers: [{ sightings: new Map(), resets: [{ at: 105, position: 9 }] }] }),
      'which no failover lost',
    ],
    ['a loss without a failover', recordOf({ acknowledged: [{ ...lostWrite, revision: 8 }] }), 'outside of every gap'],
    ['a revision in a gap', { ...recordOf({}), log: new Set([500]) }, 'and is in the log'],
  ])('%s is a violation', (_, record, words) => {
    expect(findLosses(record).violations.join('; ')).toContain(words);
  });
});
