import { randomUUID } from 'node:crypto';
import { isStatusError, pause, whenAborted, withinTime, type Writer } from '#pkg/apimachinery/index';
import type { Log } from '../log.ts';
import { ignoreNotFound } from '../patch/write-changes.ts';
import { leaseType, microTime, newLease } from './lease.ts';
import { unlessRaced } from './unless-raced.ts';

export interface HostLeaseOptions {
  client: Writer;
  /** Unique for each start of a process. */
  identity: string;
  namespace: string;
  /** The beginning of the lease's name; a random part follows. */
  prefix: string;
  log: Log;
  /** A host that did not renew its lease for this long is dead. Milliseconds, whole seconds. */
  durationMs: number;
  /** A host that could not renew its lease for this long stops its work. Milliseconds, less than `durationMs`. */
  deadlineMs: number;
  /** Pause between renewals and tries. Milliseconds, less than `deadlineMs`. */
  retryMs: number;
}

/** The annotation of the lease of a host that stops: it keeps its tasks until they have ended, and gets no more. */
export const leavingAnnotation = 'svc.run/leaving';

/** Timeout for the deletion of the lease, which delays the end of the process. Milliseconds. */
const leaveMs = 2000;

/**
 * The lease of one host: it is alive while it renews the lease. Whoever deletes the lease declares the host dead. Clocks
 * are not compared: others count the time since they saw the lease change.
 */
export class HostLease {
  readonly #options: HostLeaseOptions;
  readonly #key: { namespace: string; name: string };
  #uid = '';
  /** When the last successful write of the lease was sent. By `performance.now()`. */
  #renewed = 0;
  #problem: unknown;

  constructor(options: HostLeaseOptions) {
    this.#options = options;
    this.#key = { namespace: options.namespace, name: `${options.prefix}${randomUUID()}` };
  }

  /** Why the last write of the lease failed; undefined if it succeeded. */
  get problem(): unknown {
    return this.#problem;
  }

  /**
   * Creates the lease, then calls `work` with a signal that fires when the host may no longer count as alive, or with
   * `signal`; `work` must settle soon after it. Until then the lease is renewed, marked as leaving. Resolves when the
   * lease is deleted.
   * @param work also gets the revision of the new lease
   * @throws errors of `work`
   */
  async run(work: (alive: AbortSignal, revision: bigint) => Promise<void>, signal: AbortSignal): Promise<void> {
    const revision = await this.#join(signal);
    if (revision === undefined) return;
    const alive = new AbortController();
    const done = new AbortController();
    const forget = whenAborted(signal, () => alive.abort());
    const renewing = this.#renewUntil(done.signal, alive);
    try {
      await work(alive.signal, revision);
    } finally {
      forget();
      alive.abort();
      done.abort();
      await renewing;
      await this.#leave();
    }
  }

  async #join(signal: AbortSignal): Promise<bigint | undefined> {
    const { client, log, retryMs, identity, durationMs } = this.#options;
    while (!signal.aborted) {
      try {
        const spec = {
          holderIdentity: identity,
          leaseDurationSeconds: Math.ceil(durationMs / 1000),
          renewTime: microTime(),
        };
        const asked = performance.now();
        const lease = await client.create(leaseType, newLease(this.#key, spec), { signal });
        this.#uid = lease.metadata.uid;
        this.#renewed = asked;
        this.#problem = undefined;
        return BigInt(lease.metadata.resourceVersion);
      } catch (error) {
        this.#problem = error;
        // A create whose response was lost, or a deletion that failed.
        if (isStatusError(error, 'AlreadyExists')) await this.#leave();
        else if (!signal.aborted)
          log.warn({ err: error, lease: this.#key.name }, 'could not create the lease of this host; retrying');
      }
      await pause(retryMs * (1 + 0.2 * Math.random()), signal);
    }
    // The last create may have been made.
    await this.#leave();
    return undefined;
  }

  /**
   * Renews the lease until `done`. Aborts `alive` when the lease is gone, or the renewal fails for too long, and then ends.
   */
  async #renewUntil(done: AbortSignal, alive: AbortController): Promise<void> {
    const { retryMs, deadlineMs, log } = this.#options;
    const { name: lease } = this.#key;
    while (!done.aborted) {
      // A host that begins to leave says so at once.
      await pause(retryMs, alive.signal.aborted ? done : alive.signal);
      if (done.aborted) return;
      const asked = performance.now();
      const timeoutMs = Math.max(0, this.#renewed + deadlineMs - asked);
      try {
        const isThere = await withinTime({ timeoutMs, signal: done }, (limit) =>
          this.#renew(alive.signal.aborted, limit),
        );
        if (!isThere) {
          log.warn({ lease }, 'another process declared this host dead');
          return alive.abort();
        }
        this.#renewed = asked;
        this.#problem = undefined;
      } catch (error) {
        if (done.aborted) return;
        this.#problem = error;
        if (performance.now() - this.#renewed >= deadlineMs) {
          log.error({ err: error, lease }, 'could not renew the lease of this host in time; its work stops');
          return alive.abort();
        }
        log.warn({ err: error, lease }, 'could not renew the lease of this host; retrying');
      }
    }
  }

  /** False if the lease is gone. */
  async #renew(isLeaving: boolean, signal: AbortSignal): Promise<boolean> {
    const annotations = isLeaving ? { [leavingAnnotation]: 'true' } : {};
    const patch = { metadata: { uid: this.#uid, annotations }, spec: { renewTime: microTime() } };
    return (
      (await unlessRaced(this.#options.client.patch(leaseType, this.#key, { type: 'merge', patch }, { signal }))) !==
      undefined
    );
  }

  /** The others need not wait until it counts as dead. */
  async #leave(): Promise<void> {
    const { client, log } = this.#options;
    try {
      await ignoreNotFound(client.delete(leaseType, this.#key, { signal: AbortSignal.timeout(leaveMs) }));
    } catch (error) {
      log.warn({ err: error, lease: this.#key.name }, 'could not delete the lease of this host; it expires by itself');
    }
  }
}
