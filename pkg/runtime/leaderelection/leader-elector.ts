import {
  isStatusError,
  pause,
  whenAborted,
  withinTime,
  type Fence,
  type Reader,
  type Stored,
  type Writer,
} from '#pkg/apimachinery/index';
import type { Log } from '../log.ts';
import { leaseType, maxLeaseSeconds, type Lease, type LeaseSpec } from './lease.ts';

export interface LeaderElectorOptions {
  client: Reader & Writer;
  /** The candidate's name, unique for each start of a process. */
  identity: string;
  namespace: string;
  lease: string;
  log: Log;
  /** A lease that was not renewed for this long is free. Milliseconds, default 15 000, whole seconds. */
  durationMs?: number;
  /** A leader that could not renew for this long steps down. Milliseconds, default 10 000, less than `durationMs`. */
  deadlineMs?: number;
  /** Pause between tries. Milliseconds, default 2 000, less than `deadlineMs`. */
  retryMs?: number;
}

/** Timeout for releasing the lease, which delays the end of the process. Milliseconds. */
const releaseMs = 2000;

/** One term as leader: `signal` fires when it ends for any reason. */
export interface Leadership {
  /** For the writes of this term. */
  fence: Fence;
  signal: AbortSignal;
}

/**
 * Elects one leader among many candidates by a Lease. It does not compare clocks: a lease is free once this process has
 * seen it unchanged for its duration, ten minutes at most. Before a leader notices that it lost the lease it may still
 * write: the fence makes those writes fail. Source: client-go, `tools/leaderelection`.
 */
export class LeaderElector {
  readonly #options: Required<LeaderElectorOptions>;
  /** The lease as last seen, and since when it is unchanged. */
  #seen: { lease: Stored<Lease>; since: number } | undefined;
  #problem: unknown;

  constructor(options: LeaderElectorOptions) {
    this.#options = { durationMs: 15_000, deadlineMs: 10_000, retryMs: 2000, ...options };
  }

  /** Why the last read or renewal of the lease failed; undefined if it succeeded. */
  get problem(): unknown {
    return this.#problem;
  }

  /**
   * Waits for the lease, then calls `lead`, whose promise must settle soon after its signal fires. Resolves when the
   * term is over and the lease is released, or when `signal` fires first. An error of `lead` ends the term and is
   * rethrown.
   */
  async run(lead: (leadership: Leadership) => Promise<void>, signal: AbortSignal): Promise<void> {
    const lease = await this.#acquire(signal);
    if (lease === undefined) return;
    const { namespace, lease: name, log, identity } = this.#options;
    const turn = new AbortController();
    const end = (): void => turn.abort();
    const forget = whenAborted(signal, end);
    const fence: Fence = { namespace, lease: name, transitions: lease.spec?.leaseTransitions ?? 0 };
    log.info({ lease: name, identity, transitions: fence.transitions }, 'leading');
    const renewing = this.#renewUntil(turn).finally(end);
    try {
      await lead({ fence, signal: turn.signal });
    } finally {
      forget();
      end();
      await renewing;
      await this.#release();
      log.info({ lease: name, identity }, 'no longer leading');
    }
  }

  async #acquire(signal: AbortSignal): Promise<Stored<Lease> | undefined> {
    const { retryMs, log, lease } = this.#options;
    while (!signal.aborted) {
      try {
        const taken = await this.#tryToTake(signal);
        this.#problem = undefined;
        if (taken !== undefined) return taken;
      } catch (error) {
        this.#problem = error;
        if (!signal.aborted) log.warn({ err: error, lease }, 'could not acquire the lease; retrying');
      }
      await pause(retryMs * (1 + 0.2 * Math.random()), signal);
    }
    return undefined;
  }

  /** Undefined while another candidate holds it. */
  async #tryToTake(signal: AbortSignal): Promise<Stored<Lease> | undefined> {
    const { client, namespace, lease: name, identity } = this.#options;
    let found: Stored<Lease>;
    try {
      found = await client.get(leaseType, { namespace, name }, { signal });
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error;
      // A deleted lease is recreated with a higher number, so that fences of earlier terms stay invalid.
      const leaseTransitions = this.#seen === undefined ? 0 : (this.#seen.lease.spec?.leaseTransitions ?? 0) + 1;
      const fresh: Lease = {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { namespace, name },
        spec: { ...this.#claim(), leaseTransitions },
      };
      return this.#written(client.create(leaseType, fresh, { signal }));
    }
    if (this.#seen?.lease.metadata.resourceVersion !== found.metadata.resourceVersion)
      this.#seen = { lease: found, since: performance.now() };
    const { holderIdentity = '', leaseDurationSeconds = 0, leaseTransitions = 0 } = found.spec ?? {};
    const isFree =
      holderIdentity === '' ||
      performance.now() - this.#seen.since >= Math.min(leaseDurationSeconds, maxLeaseSeconds) * 1000;
    if (!isFree && holderIdentity !== identity) return undefined;
    // Each term has its own number, even if the same process leads again.
    return this.#written(
      client.update(
        leaseType,
        { ...found, spec: { ...this.#claim(), leaseTransitions: leaseTransitions + 1 } },
        { signal },
      ),
    );
  }

  /** Losing the race against another candidate is not a failure. */
  async #written(write: Promise<Stored<Lease>>): Promise<Stored<Lease> | undefined> {
    try {
      const lease = await write;
      this.#seen = { lease, since: performance.now() };
      return lease;
    } catch (error) {
      if (isStatusError(error, 'Conflict') || isStatusError(error, 'AlreadyExists')) return undefined;
      throw error;
    }
  }

  /**
   * Resolves when the term ends: the signal fires, another candidate takes the lease, or the renewal fails for too
   * long.
   */
  async #renewUntil(turn: AbortController): Promise<void> {
    const { retryMs, deadlineMs, log, lease: name } = this.#options;
    const { signal } = turn;
    let renewed = performance.now();
    while (!signal.aborted) {
      await pause(retryMs, signal);
      if (signal.aborted) return;
      const asked = performance.now();
      const timeoutMs = Math.max(0, renewed + deadlineMs - asked);
      try {
        if ((await withinTime({ timeoutMs }, (limit) => this.#renew(limit))) === undefined)
          return log.warn({ lease: name }, 'another process took the lease');
        renewed = asked;
        this.#problem = undefined;
      } catch (error) {
        this.#problem = error;
        if (performance.now() - renewed >= deadlineMs)
          return log.error({ err: error, lease: name }, 'could not renew the lease in time; leadership is lost');
        log.warn({ err: error, lease: name }, 'could not renew the lease; retrying');
      }
    }
  }

  async #renew(signal: AbortSignal): Promise<Stored<Lease> | undefined> {
    const { client, identity, namespace, lease: name } = this.#options;
    const held = this.#seen!.lease;
    const spec: LeaseSpec = { ...held.spec, renewTime: microTime() };
    const renewed = await this.#written(client.update(leaseType, { ...held, spec }, { signal }));
    if (renewed !== undefined) return renewed;
    // An earlier renewal may have succeeded without a response, or a user edited the lease.
    const found = await client.get(leaseType, { namespace, name }, { signal });
    const isOurs =
      found.spec?.holderIdentity === identity && found.spec.leaseTransitions === held.spec?.leaseTransitions;
    if (!isOurs) return undefined;
    this.#seen = { lease: found, since: performance.now() };
    return found;
  }

  /** The next leader need not wait for the lease to expire. */
  async #release(): Promise<void> {
    const { client, log, lease: name } = this.#options;
    const held = this.#seen?.lease;
    if (held?.spec?.holderIdentity !== this.#options.identity) return;
    const spec: LeaseSpec = { ...held.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime() };
    try {
      await this.#written(client.update(leaseType, { ...held, spec }, { signal: AbortSignal.timeout(releaseMs) }));
    } catch (error) {
      log.warn({ err: error, lease: name }, 'could not release the lease; it expires by itself');
    }
  }

  #claim(): LeaseSpec {
    const { identity, durationMs } = this.#options;
    const now = microTime();
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(durationMs / 1000),
      acquireTime: now,
      renewTime: now,
    };
  }
}

/** Now, as Kubernetes writes `metav1.MicroTime`. */
function microTime(): string {
  return new Date().toISOString().replace('Z', '000Z');
}
