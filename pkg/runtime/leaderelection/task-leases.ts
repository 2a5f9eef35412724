import {
  pause,
  whenAborted,
  type Client,
  type Fence,
  type ObjectKey,
  type OwnerReference,
  type Stored,
} from '#pkg/apimachinery/index';
import { Informer } from '../cache/informer.ts';
import type { Log } from '../log.ts';
import { ItemBackoff } from '../workqueue/rate-limiter.ts';
import { assignTasks } from './assign-tasks.ts';
import { GroupLease } from './group-lease.ts';
import { HostLease, leavingAnnotation } from './host-lease.ts';
import { isExpired, leaseType, microTime, newLease, type Lease, type SeenLease } from './lease.ts';
import { unlessRaced } from './unless-raced.ts';

/** One term in which this host leads a task: `signal` fires when it ends for any reason. */
export interface Leadership {
  /** For the writes of this term. */
  fence: Fence;
  signal: AbortSignal;
}

/** Something that one host at a time does. */
export interface Task {
  /** Unique in the group. */
  name: string;
  /** Tasks of one group run on the same host. Default: the name. */
  group?: string;
  /** Its lease is deleted together with this object. */
  owner?: OwnerReference;
  /** Does it until the signal fires, and settles soon afterwards. After an error it is tried again, with a delay. */
  lead(leadership: Leadership): Promise<void>;
}

/** Offers tasks to the hosts. */
export interface TaskSource {
  /** The tasks that there are now. */
  tasks(): Iterable<Task>;
}

export interface TaskLeasesOptions {
  client: Client;
  /** The host's name, unique for each start of a process. */
  identity: string;
  namespace: string;
  /** The lease that all hosts hold together, and the beginning of the names of all others. */
  group: string;
  log: Log;
  /** A host that did not renew its lease for this long is dead. Milliseconds, default 15 000, whole seconds. */
  durationMs?: number;
  /** A host that could not renew its lease for this long stops its tasks. Milliseconds, default 10 000. */
  deadlineMs?: number;
  /** Whether the process of another host is known to have ended: its tasks are free at once. Default: none is. */
  isGone?: (identity: string) => boolean;
  /** Pause between renewals and tries. Milliseconds, default 2 000. */
  retryMs?: number;
  /** A running task moves to another host only after the hosts were the same for this long. Milliseconds, default 10 000. */
  settleMs?: number;
}

/** One term, from its taken lease until the lease is given back. */
interface Term {
  task: Task;
  lease: Stored<Lease>;
  end: AbortController;
  /** Never rejects. */
  ended: Promise<void>;
}

/**
 * Shares tasks between hosts: each task is led by one of them at a time. Every host renews one lease of its own, whatever
 * it leads. A task has a lease as well, which is written only when it changes hands: it is free if its holder is not
 * alive. A former leader that does not know this yet may still write, and the fence of its term makes those writes fail.
 * The hosts agree on who does what because `assignTasks` decides from the leases alone.
 */
export class TaskLeases {
  readonly #options: Required<TaskLeasesOptions>;
  readonly #informer: Informer<Lease>;
  readonly #host: HostLease;
  readonly #group: GroupLease;
  readonly #sources = new Set<TaskSource>();
  readonly #terms = new Map<string, Term>();
  /** When this process saw each lease change for the last time. By `performance.now()`. */
  readonly #changed = new Map<string, { resourceVersion: string; since: number }>();
  /** The highest number of transitions of each task's lease: a deleted lease is created again with a higher one. */
  readonly #transitions = new Map<string, number>();
  readonly #backoff = new ItemBackoff({ baseMs: 1000, maxMs: 60_000 });
  /** When a task whose term failed may be taken again. */
  readonly #notBefore = new Map<string, number>();
  readonly #stopping = new AbortController();
  #hosts = { names: '', since: 0 };
  #wake: AbortController | undefined;
  #running: Promise<void> | undefined;
  #problem: unknown;

  constructor(options: TaskLeasesOptions) {
    const all = {
      durationMs: 15_000,
      deadlineMs: 10_000,
      retryMs: 2000,
      settleMs: 10_000,
      isGone: () => false,
      ...options,
    };
    const { client, namespace, group, log, durationMs } = all;
    this.#options = all;
    this.#informer = new Informer({ client, type: leaseType, selection: { namespace }, log });
    this.#host = new HostLease({ ...all, prefix: this.#hostPrefix });
    // Longer than the hosts' own: one of them renews it for all.
    this.#group = new GroupLease({ client, key: { namespace, name: group }, durationMs: durationMs * 4, log });
    this.#informer.listen((event) => {
      const isRenewal =
        event.type === 'update' &&
        event.object.metadata.name.startsWith(this.#hostPrefix) &&
        isLeaving(event.object) === isLeaving(event.old);
      if (!isRenewal) this.look();
    });
  }

  get identity(): string {
    return this.#options.identity;
  }

  get namespace(): string {
    return this.#options.namespace;
  }

  get group(): string {
    return this.#options.group;
  }

  /** Why the leases cannot be read or written now; undefined if they can. */
  get problem(): unknown {
    return this.#informer.problem ?? this.#host.problem ?? this.#problem;
  }

  /** The name of a task's lease. */
  leaseOf(task: string): string {
    return `${this.#options.group}.${task}`;
  }

  /** Whether this host leads a task. */
  get isLeading(): boolean {
    return this.#terms.size > 0;
  }

  /** Whether this host leads the task. */
  leads(task: string): boolean {
    return this.#terms.get(task)?.end.signal.aborted === false;
  }

  /** Returns immediately; failures are logged and retried. Idempotent. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Ends all terms and leaves the other hosts. Idempotent, never rejects. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** Returns a function that takes the source's tasks back, and resolves when no term of them is left. */
  add(source: TaskSource): () => Promise<void> {
    this.#sources.add(source);
    this.look();
    return async () => {
      const tasks = [...source.tasks()].map(({ name }) => name);
      this.#sources.delete(source);
      await Promise.all(tasks.map((name) => this.#end(name)));
    };
  }

  /** Call it when the tasks of a source have changed. */
  look(): void {
    this.#wake?.abort();
  }

  get #hostPrefix(): string {
    return `${this.#options.group}.host.`;
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    this.#informer.start();
    while (!signal.aborted) await this.#host.run((alive, revision) => this.#share(alive, revision), signal);
    await this.#informer.stop();
  }

  /** Takes and gives back tasks while this host is alive. Never rejects. */
  async #share(alive: AbortSignal, revision: bigint): Promise<void> {
    // A host that comes back has an old cache.
    await this.#informer.waitUntil(() => this.#informer.revision >= revision, alive);
    while (!alive.aborted) {
      const wake = new AbortController();
      this.#wake = wake;
      const forget = whenAborted(alive, () => wake.abort());
      try {
        await this.#decide(alive);
        this.#problem = undefined;
      } catch (error) {
        this.#problem = error;
        if (!alive.aborted)
          this.#options.log.warn({ err: error }, 'could not read or write the leases of tasks; retrying');
      }
      await pause(this.#options.retryMs, wake.signal);
      forget();
    }
    await Promise.all(Array.from(this.#terms.keys(), (name) => this.#end(name)));
    if (this.#stopping.signal.aborted) await this.#leaveGroup();
  }

  async #decide(alive: AbortSignal): Promise<void> {
    const { identity, settleMs, group } = this.#options;
    const leases = this.#readLeases();
    const hosts = await this.#aliveHosts(leases, alive);
    const isShared = await this.#group.hold(leases.get(group), this.#informer.revision, alive);
    const tasks = isShared ? this.#tasks() : new Map<string, Task>();
    const holderOf = (name: string): string | undefined => {
      const term = this.#terms.get(name);
      if (term !== undefined && !this.#isLost(term, leases)) return identity;
      const holder = leases.get(this.leaseOf(name))?.lease.spec?.holderIdentity;
      return holder !== undefined && hosts.has(holder) ? holder : undefined;
    };
    const targets = [...hosts].flatMap(([host, leaves]) => (leaves ? [] : [host]));
    const plan = assignTasks(
      Array.from(tasks.values(), ({ name, group: of = name }) => ({ name, group: of, holder: holderOf(name) })).filter(
        ({ holder }) => holder === undefined || targets.includes(holder),
      ),
      targets,
    );
    const now = performance.now();
    const isSettled = now - this.#hosts.since >= settleMs;
    for (const [name, term] of this.#terms) {
      const isElsewhere = isSettled && plan.get(name) !== identity;
      if (!tasks.has(name) || isElsewhere || this.#isLost(term, leases)) term.end.abort();
    }
    const work: Promise<unknown>[] = [];
    for (const [name, task] of tasks) {
      const { lease } = leases.get(this.leaseOf(name)) ?? {};
      this.#noteTransitions(name, lease);
      if (this.#terms.has(name)) continue;
      const holder = holderOf(name);
      const isHere = plan.get(name) === identity && (this.#notBefore.get(name) ?? 0) <= now;
      if (isHere && (holder === undefined || holder === identity)) work.push(this.#take(task, lease, alive));
      // Its return failed.
      if (!isHere && holder === identity) work.push(this.#giveBack(this.#fenceOf(lease!)));
    }
    const outcomes = await Promise.allSettled(work);
    if (isShared) this.#prune(tasks);
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }

  /** Forgets tasks that no longer exist. */
  #prune(tasks: ReadonlyMap<string, unknown>): void {
    for (const name of this.#transitions.keys()) if (!tasks.has(name)) this.#transitions.delete(name);
    for (const name of this.#notBefore.keys()) {
      if (tasks.has(name)) continue;
      this.#notBefore.delete(name);
      this.#backoff.forget(name);
    }
  }

  /** The leases of the group by name. */
  #readLeases(): Map<string, SeenLease> {
    const now = performance.now();
    const found = new Map<string, SeenLease>();
    for (const lease of this.#informer.indexer.all()) {
      const { name, resourceVersion } = lease.metadata;
      if (name !== this.#options.group && !name.startsWith(`${this.#options.group}.`)) continue;
      const before = this.#changed.get(name);
      const since = before?.resourceVersion === resourceVersion ? before.since : now;
      this.#changed.set(name, { resourceVersion, since });
      found.set(name, { lease, unchangedMs: now - since });
    }
    for (const name of this.#changed.keys()) if (!found.has(name)) this.#changed.delete(name);
    return found;
  }

  /** The living hosts, and whether they leave. Deletes the leases of dead ones, unless they were renewed meanwhile. */
  async #aliveHosts(leases: ReadonlyMap<string, SeenLease>, signal: AbortSignal): Promise<Map<string, boolean>> {
    const { client, identity, isGone, log } = this.#options;
    const hosts = new Map([[identity, false]]);
    for (const seen of leases.values()) {
      const { lease } = seen;
      const { holderIdentity = '' } = lease.spec ?? {};
      if (!this.#isOtherHost(lease) || holderIdentity === '') continue;
      const { namespace = '', name, uid, resourceVersion } = lease.metadata;
      const isDead =
        (isExpired(seen) || isGone(holderIdentity)) &&
        (await unlessRaced(client.delete(leaseType, { namespace, name }, { uid, resourceVersion, signal }))) !==
          undefined;
      if (isDead) log.warn({ host: holderIdentity }, 'a host is dead: the others take over its tasks');
      // Changed or deleted meanwhile: the cache will show it.
      else hosts.set(holderIdentity, isLeaving(lease));
    }
    const names = [...hosts.keys()].toSorted().join(' ');
    if (names !== this.#hosts.names) this.#hosts = { names, since: performance.now() };
    return hosts;
  }

  #isOtherHost({ metadata, spec }: Lease): boolean {
    return metadata.name.startsWith(this.#hostPrefix) && spec?.holderIdentity !== this.#options.identity;
  }

  #tasks(): Map<string, Task> {
    return new Map([...this.#sources].flatMap((source) => Array.from(source.tasks(), (task) => [task.name, task])));
  }

  /** Whether the cache, if it is not older than the term, shows that somebody else changed or deleted the lease. */
  #isLost({ task, lease }: Term, leases: ReadonlyMap<string, SeenLease>): boolean {
    if (this.#informer.revision < BigInt(lease.metadata.resourceVersion)) return false;
    const spec = leases.get(this.leaseOf(task.name))?.lease.spec;
    return spec?.holderIdentity !== this.#options.identity || spec.leaseTransitions !== lease.spec?.leaseTransitions;
  }

  /** Takes a free task, unless another host is faster. */
  async #take(task: Task, found: Stored<Lease> | undefined, signal: AbortSignal): Promise<void> {
    const { client, namespace, identity } = this.#options;
    const key: ObjectKey = { namespace, name: this.leaseOf(task.name) };
    const now = microTime();
    // Each term has its own number, even if the same host leads again.
    const spec = {
      holderIdentity: identity,
      acquireTime: now,
      renewTime: now,
      leaseTransitions: (this.#transitions.get(task.name) ?? -1) + 1,
    };
    const owners = task.owner === undefined ? {} : { ownerReferences: [task.owner] };
    const lease = await unlessRaced(
      found === undefined
        ? client.create(leaseType, newLease(key, spec, owners), { signal })
        : client.update(leaseType, { ...found, spec }, { signal }),
    );
    if (lease === undefined) return;
    this.#noteTransitions(task.name, lease);
    this.#begin(task, lease, signal);
  }

  #noteTransitions(task: string, lease: Stored<Lease> | undefined): void {
    const { leaseTransitions = 0 } = lease?.spec ?? {};
    if (lease !== undefined && leaseTransitions > (this.#transitions.get(task) ?? -1))
      this.#transitions.set(task, leaseTransitions);
  }

  #begin(task: Task, lease: Stored<Lease>, alive: AbortSignal): void {
    const end = new AbortController();
    const forget = whenAborted(alive, () => end.abort());
    const term: Term = { task, lease, end, ended: Promise.resolve() };
    this.#terms.set(task.name, term);
    term.ended = this.#lead(term).finally(() => {
      forget();
      if (this.#terms.get(task.name) === term) this.#terms.delete(task.name);
      this.look();
    });
  }

  /** Never rejects. */
  async #lead({ task, lease, end }: Term): Promise<void> {
    const { log, identity } = this.#options;
    const { name } = lease.metadata;
    const fence = this.#fenceOf(lease);
    log.info({ lease: name, identity, transitions: fence.transitions }, 'leading');
    try {
      await task.lead({ fence, signal: end.signal });
      if (!end.signal.aborted) throw new Error('the task ended by itself');
      this.#backoff.forget(task.name);
    } catch (error) {
      this.#notBefore.set(task.name, performance.now() + this.#backoff.delay(task.name));
      log.error({ err: error, lease: name }, 'a term as leader ended with an error; retrying');
    }
    end.abort();
    await this.#giveBack(fence);
    log.info({ lease: name, identity }, 'no longer leading');
  }

  #fenceOf({ metadata, spec }: Stored<Lease>): Fence {
    return { namespace: this.#options.namespace, lease: metadata.name, transitions: spec?.leaseTransitions ?? 0 };
  }

  /** Another host can take the task at once. */
  async #giveBack(fence: Fence): Promise<void> {
    const { client, log } = this.#options;
    const key: ObjectKey = { namespace: fence.namespace, name: fence.lease };
    const patch = { spec: { holderIdentity: '', renewTime: microTime() } };
    try {
      // The fence proves that it is still this term's.
      await unlessRaced(
        client.patch(leaseType, key, { type: 'merge', patch }, { fence, signal: AbortSignal.timeout(giveBackMs) }),
      );
    } catch (error) {
      log.warn(
        { err: error, lease: fence.lease },
        'could not give back the lease of a task; it is free when this host has left',
      );
    }
  }

  async #end(task: string): Promise<void> {
    const term = this.#terms.get(task);
    term?.end.abort();
    await term?.ended;
  }

  /** The last host gives the lease of all back: a process of an earlier release can lead at once. */
  async #leaveGroup(): Promise<void> {
    const { group, log } = this.#options;
    const leases = this.#readLeases();
    if ([...leases.values()].some(({ lease }) => this.#isOtherHost(lease) && !isLeaving(lease))) return;
    await this.#group
      .leave(leases.get(group)?.lease, this.#informer.revision, AbortSignal.timeout(giveBackMs))
      .catch((error: unknown) =>
        log.warn({ err: error, lease: group }, 'could not give back the lease of the group; it expires by itself'),
      );
  }
}

function isLeaving({ metadata }: Lease): boolean {
  return metadata.annotations?.[leavingAnnotation] !== undefined;
}

/** Timeout for giving back a lease, which delays the end of the process. Milliseconds. */
const giveBackMs = 2000;
