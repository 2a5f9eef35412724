import { randomUUID } from 'node:crypto';
import { isStatusError, pause, whenAborted, withinTime, type Writer } from '#pkg/apimachinery/index';
import type { Log } from '../log.ts';
import { ignoreNotFound } from '../patch/write-changes.ts';
import { leaseType, microTime, newLease } from './lease.ts';

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
   * `signal`; `work` must settle soon after it. Resolves when the lease is deleted.
   * @throws errors of `work`
   */
  async run(work: (alive: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    if (!(await this.#join(signal))) return;
    const alive = new AbortController();
    const end = (): void => alive.abort();
    const forget = whenAborted(signal, end);
    const renewing = this.#renewUntil(alive).finally(end);
    try {
      await work(alive.signal);
    } finally {
      forget();
      end();
      await renewing;
      await this.#leave();
    }
  }

  async #join(signal: AbortSignal): Promise<boolean> {
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
        return true;
      } catch (error) {
        this.#problem = error;
        // A create whose response was lost, or a deletion that failed.
        if (isStatusError(error, 'AlreadyExists')) await this.#leave();
        else if (!signal.aborted)
          log.warn({ err: error, lease: this.#key.name }, 'could not create the lease of this host; retrying');
      }
      await pause(retryMs * (1 + 0.2 * Math.random()), signal);
    }
    return false;
  }

  /** Resolves when the signal fires, the lease is gone, or the renewal fails for too long. */
  async #renewUntil({ signal }: AbortController): Promise<void> {
    const { retryMs, deadlineMs, log } = this.#options;
    const { name: lease } = this.#key;
    while (!signal.aborted) {
      await pause(retryMs, signal);
      if (signal.aborted) return;
      const asked = performance.now();
      const timeoutMs = Math.max(0, this.#renewed + deadlineMs - asked);
      try {
        if (!(await withinTime({ timeoutMs }, (limit) => this.#renew(limit))))
          return log.warn({ lease }, 'another process declared this host dead');
        this.#renewed = asked;
        this.#problem = undefined;
      } catch (error) {
        this.#problem = error;
        if (performance.now() - this.#renewed >= deadlineMs)
          return log.error({ err: error, lease }, 'could not renew the lease of this host in time; its work stops');
        log.warn({ err: error, lease }, 'could not renew the lease of this host; retrying');
      }
    }
  }

  /** False if the lease is gone. */
  async #renew(signal: AbortSignal): Promise<boolean> {
    try {
      const patch = { metadata: { uid: this.#uid }, spec: { renewTime: microTime() } };
      await this.#options.client.patch(leaseType, this.#key, { type: 'merge', patch }, { signal });
      return true;
    } catch (error) {
      if (isStatusError(error, 'NotFound') || isStatusError(error, 'Conflict')) return false;
      throw error;
    }
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
