import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { repository } from '../../harness/process/server-process.ts';
import { forgetArguments } from '../cluster/etcd-cluster.ts';
import { copyArguments, followArguments, promoteArguments } from './region-commands.ts';
import { regionLine, regionLines, type RegionChange } from './region-table.ts';

const loss: RegionChange = {
  kind: 'loss',
  steps: { promotion: 6000, standby: 500, svcStarts: 4000, whole: 10_500, rejoin: 20_000 },
  lost: 7,
};
const switchover: RegionChange = {
  kind: 'switchover',
  steps: { ...loss.steps, svcStops: 1000, regionStops: 3000 },
  lost: 0,
};

describe('the table of regions', () => {
  test('has median and maximum of each step, by kind', () => {
    const lines = regionLines([switchover, loss, { ...loss, lost: 9 }]).map((line) => line.replaceAll(/ +/g, ' '));
    expect(lines.slice(2)).toEqual([
      '| 1 switchovers, median | 1.00 | 3.00 | 6.00 | 0.50 | 4.00 | 10.50 | 20.00 | 0 |',
      '| maximum | 1.00 | 3.00 | 6.00 | 0.50 | 4.00 | 10.50 | 20.00 | 0 |',
      '| 2 losses of a region, median | | | 6.00 | 0.50 | 4.00 | 10.50 | 20.00 | 8 |',
      '| maximum | | | 6.00 | 0.50 | 4.00 | 10.50 | 20.00 | 9 |',
    ]);
  });

  test('a line has the steps that there were', () => {
    expect(regionLine(loss)).toBe(
      '  loss       promotion 6.00, standby 0.50, svc starts 4.00, all 10.50, old region follows 20.00; 7 writes lost',
    );
  });
});

describe('the commands of a change of the region', () => {
  const page = readFileSync(join(repository, 'docs/availability.md'), 'utf8');

  test.each([
    ['a region begins to follow', followArguments(['10.1.0.1', '10.1.0.2', '10.1.0.3'])],
    ['a region goes back to following', followArguments(['10.0.0.1', '10.0.0.2', '10.0.0.3'])],
    ['a region is promoted', promoteArguments],
    ['a server gets the data of its leader', copyArguments('db2')],
  ])('docs/availability.md shows how %s', (_, args) => {
    expect(page).toContain(`patronictl -c /etc/patroni/config.yml ${args.join(' ')}\n`);
  });

  test('docs/availability.md shows how a cluster begins anew', () => {
    expect(page).toContain(`etcdctl ${forgetArguments.join(' ')}\n`);
  });
});
