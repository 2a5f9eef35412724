/** A task, as the assignment sees it. */
export interface AssignableTask {
  name: string;
  /** Tasks of one group run on the same host. */
  group: string;
  /** The live host that has it now. */
  holder: string | undefined;
}

interface Group {
  name: string;
  tasks: string[];
  host: string | undefined;
}

/**
 * Decides which host does which task: a pure function, so that all hosts that see the same decide the same. A group
 * stays where it is; one without a live holder goes to the host with the fewest tasks; and groups move from the host
 * with the most to the one with the fewest while that makes them more even. Without hosts nothing is assigned.
 * @returns the host of each task
 */
export function assignTasks(tasks: readonly AssignableTask[], hosts: readonly string[]): Map<string, string> {
  if (hosts.length === 0) return new Map();
  const loads = new Loads(hosts);
  const groups = groupsOf(tasks);
  for (const { host, tasks: names } of groups) if (host !== undefined) loads.add(host, names.length);
  // The largest first, because small ones fill the gaps.
  for (const group of groups.toSorted((a, b) => b.tasks.length - a.tasks.length || compare(a.name, b.name))) {
    if (group.host !== undefined) continue;
    group.host = loads.least;
    loads.add(group.host, group.tasks.length);
  }
  even(groups, loads);
  return new Map(groups.flatMap(({ tasks: names, host }) => names.map((name): [string, string] => [name, host!])));
}

/** Each move makes the sum of the squared loads smaller, so that this ends. */
function even(groups: readonly Group[], loads: Loads): void {
  const evenOnce = (): boolean => {
    const { least } = loads;
    for (const host of loads.fromTheMost) {
      const difference = loads.of(host) - loads.of(least);
      // The one that leaves the two hosts closest to each other.
      const [best] = groups
        .filter((group) => group.host === host && group.tasks.length < difference)
        .toSorted(
          (a, b) =>
            Math.abs(difference - 2 * a.tasks.length) - Math.abs(difference - 2 * b.tasks.length) ||
            compare(a.name, b.name),
        );
      if (best === undefined) continue;
      best.host = least;
      loads.add(host, -best.tasks.length);
      loads.add(least, best.tasks.length);
      return true;
    }
    return false;
  };
  while (evenOnce());
}

/** Of a group that is spread, the host with most of its tasks has it. */
function groupsOf(tasks: readonly AssignableTask[]): Group[] {
  const groups = new Map<string, AssignableTask[]>();
  for (const task of tasks) groups.set(task.group, [...(groups.get(task.group) ?? []), task]);
  return Array.from(groups.entries(), ([name, members]) => {
    const held = new Map<string, number>();
    for (const { holder } of members) if (holder !== undefined) held.set(holder, (held.get(holder) ?? 0) + 1);
    const [main] = [...held].toSorted(([a, countOfA], [b, countOfB]) => countOfB - countOfA || compare(a, b));
    return { name, tasks: members.map((task) => task.name), host: main?.[0] };
  }).toSorted((a, b) => compare(a.name, b.name));
}

/** How many tasks each host has. Of equal hosts the first by name counts. */
class Loads {
  readonly #loads: Map<string, number>;

  constructor(hosts: readonly string[]) {
    this.#loads = new Map(hosts.toSorted(compare).map((host) => [host, 0]));
  }

  get fromTheMost(): string[] {
    return [...this.#loads.keys()].toSorted((a, b) => this.of(b) - this.of(a));
  }

  get least(): string {
    return this.fromTheMost.reduce((best, host) => (this.of(host) < this.of(best) ? host : best));
  }

  of(host: string): number {
    return this.#loads.get(host) ?? 0;
  }

  add(host: string, tasks: number): void {
    this.#loads.set(host, this.of(host) + tasks);
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
