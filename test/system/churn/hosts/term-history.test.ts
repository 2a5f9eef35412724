import { expect, test } from '@jest/globals';
import { TermHistory } from './term-history.ts';

function violationsOf(...writes: [name: string, term: number, host: string][]): number {
  const history = new TermHistory();
  for (const [name, term, host] of writes)
    history.note({
      type: 'MODIFIED',
      object: {
        apiVersion: 'churn.example.com/v1',
        kind: 'Job',
        metadata: { name, uid: '', resourceVersion: '1', generation: 1, creationTimestamp: '' },
        spec: { number: 1 },
        status: { handled: 1, host, term },
      },
    });
  return history.violations.length;
}

test.each<[string, [string, number, string][], number]>([
  [
    'one host',
    [
      ['a', 0, 'x'],
      ['a', 0, 'x'],
    ],
    0,
  ],
  [
    'a later term of another host',
    [
      ['a', 0, 'x'],
      ['a', 1, 'y'],
      ['b', 0, 'x'],
    ],
    0,
  ],
  [
    'an earlier term after a later one',
    [
      ['a', 1, 'y'],
      ['a', 0, 'x'],
    ],
    1,
  ],
  [
    'two hosts in one term',
    [
      ['a', 1, 'y'],
      ['a', 1, 'x'],
    ],
    1,
  ],
])('%s', (_case, writes, violations) => expect(violationsOf(...writes)).toBe(violations));
