import { describe, expect, test } from '@jest/globals';
import { median, outageLines, type Outage } from './outage-table.ts';

const outage: Outage = {
  kind: 'kill',
  detection: 18_000,
  promotion: 500,
  standby: 200,
  haproxy: 100,
  own: { haproxy: 300, 'several hosts': 200 },
  whole: { haproxy: 19_100, 'several hosts': 18_900 },
};

describe('the table of outages', () => {
  test('has median and maximum of each part, by kind', () => {
    const lines = outageLines([outage, { ...outage, detection: 20_000 }, { ...outage, kind: 'switchover' }]);
    expect(lines[2]).toMatch(/^\| 1 switchovers, median \| 18\.00 /);
    expect(lines[4]).toMatch(/^\| 2 kills, median {7}\| 19\.00 /);
    expect(lines[5]).toMatch(/^\| maximum {15}\| 20\.00 /);
    expect(lines[6]).toBe("svc's own part at most 1.00 s: met of 6");
  });

  test('says how often the goal was missed', () => {
    const slow = { ...outage, own: { haproxy: 1300, 'several hosts': 200 } };
    expect(outageLines([outage, slow]).at(-1)).toBe("svc's own part at most 1.00 s: MISSED 1 times of 4");
  });

  test('a median of an even number is between the two in the middle', () => {
    expect(median([4, 1, 2, 3])).toBe(2.5);
    expect(median([3, 1, 2])).toBe(2);
  });
});
