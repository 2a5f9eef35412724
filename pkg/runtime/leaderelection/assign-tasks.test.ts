import { expect, test } from '@jest/globals';
import { SeededRandom } from '../../testenv/faults/seeded-random.ts';
import { assignTasks, type AssignableTask } from './assign-tasks.ts';

const task = (name: string, holder?: string, group = name): AssignableTask => ({ name, group, holder });

/** The tasks of each host, as text. */
function planned(tasks: AssignableTask[], hosts: string[]): Record<string, string> {
  const plan = assignTasks(tasks, hosts);
  return Object.fromEntries(
    hosts.map((host) => [host, tasks.flatMap(({ name }) => (plan.get(name) === host ? [name] : [])).join(' ')]),
  );
}

test.each<[string, AssignableTask[], string[], Record<string, string>]>([
  ['free tasks are spread', [task('a'), task('b'), task('c')], ['x', 'y'], { x: 'a c', y: 'b' }],
  ['a task stays with its holder', [task('a', 'y'), task('b', 'x')], ['x', 'y'], { x: 'b', y: 'a' }],
  [
    'a host that joins gets its share, and nothing else moves',
    [task('a', 'x'), task('b', 'x'), task('c', 'x'), task('d', 'y'), task('e', 'y')],
    ['x', 'y', 'z'],
    { x: 'b c', y: 'd e', z: 'a' },
  ],
  [
    'the tasks of a host that left go to the others',
    [task('a', 'x'), task('b'), task('c'), task('d', 'y')],
    ['x', 'y'],
    { x: 'a b', y: 'c d' },
  ],
  [
    'a group is together',
    [task('a', undefined, 'g'), task('b', undefined, 'g'), task('c'), task('d')],
    ['x', 'y'],
    { x: 'a b', y: 'c d' },
  ],
  [
    'a group that is spread comes together where most of it is',
    [task('a', 'x', 'g'), task('b', 'y', 'g'), task('c', 'y', 'g'), task('d', 'x')],
    ['x', 'y'],
    { x: 'd', y: 'a b c' },
  ],
  [
    'a large group does not keep smaller ones from moving',
    [...['a', 'b', 'c', 'd', 'e'].map((name) => task(name, 'x', 'g')), task('f', 'y'), task('h', 'y'), task('i', 'y')],
    ['x', 'y', 'z'],
    { x: 'a b c d e', y: 'h i', z: 'f' },
  ],
  ['without tasks there is nothing to do', [], ['x'], { x: '' }],
  ['without hosts nothing is assigned', [task('a')], [], {}],
])('%s', (_case, tasks, hosts, expected) => expect(planned(tasks, hosts)).toEqual(expected));

test('whatever the leases say, every task has one host, groups are together, loads are even, and the plan is stable', () => {
  const random = new SeededRandom(7);
  for (let round = 0; round < 200; round += 1) {
    const hosts = Array.from({ length: 1 + random.below(5) }, (_, i) => `host-${i}`);
    const groups = 1 + random.below(20);
    const isGrouped = random.below(2) === 0;
    const tasks = Array.from({ length: random.below(40) }, (_, i) =>
      task(
        `task-${i}`,
        random.below(3) === 0 ? undefined : hosts[random.below(hosts.length)],
        isGrouped ? `group-${random.below(groups)}` : `task-${i}`,
      ),
    );
    const plan = assignTasks(tasks, hosts);
    expect([...plan.keys()].toSorted()).toEqual(tasks.map(({ name }) => name).toSorted());
    const held = tasks.map((each) => ({ ...each, holder: plan.get(each.name) }));
    for (const each of held)
      expect(held.filter(({ group, holder }) => group === each.group && holder !== each.holder)).toEqual([]);
    const loads = hosts.map((host) => held.filter(({ holder }) => holder === host).length);
    const largest = Math.max(1, ...held.map((each) => held.filter(({ group }) => group === each.group).length));
    expect(Math.max(...loads) - Math.min(...loads)).toBeLessThanOrEqual(largest);
    expect(assignTasks(held.toReversed(), hosts.toReversed())).toEqual(
      new Map(held.toReversed().map(({ name, holder }) => [name, holder])),
    );
  }
});

test('when a host leaves, no task of the others moves', () => {
  const hosts = ['w', 'x', 'y', 'z'];
  const tasks = Array.from({ length: 100 }, (_, i) => task(`task-${i}`));
  const plan = assignTasks(tasks, hosts);
  const left = tasks.map((each) => {
    const holder = plan.get(each.name);
    return { ...each, holder: holder === 'z' ? undefined : holder };
  });
  const after = assignTasks(left, ['w', 'x', 'y']);
  for (const { name, holder } of left) if (holder !== undefined) expect(after.get(name)).toBe(holder);
});
