import type { ObjectKey, Reader, Stored, Writer } from '#pkg/apimachinery/index';
import type { Log } from '../log.ts';
import { isExpired, leaseType, microTime, newLease, type Lease, type LeaseSpec, type SeenLease } from './lease.ts';
import { unlessRaced } from './unless-raced.ts';

/** The holder that all hosts of a group are together. */
const together = 'all hosts together';

export interface GroupLeaseOptions {
  client: Reader & Writer;
  key: ObjectKey;
  /** Without a renewal for this long the lease is free. Milliseconds, whole seconds. */
  durationMs: number;
  log: Log;
}

/**
 * The lease that all hosts of a group hold together. A process of a release that shares no tasks takes this lease for
 * itself and does everything alone: so while it has the lease the hosts wait, and while they have it that process waits.
 */
export class GroupLease {
  readonly #options: GroupLeaseOptions;
  #isWaiting = false;
  /** As this process wrote it: the cache may be older. */
  #written: Stored<Lease> | undefined;

  constructor(options: GroupLeaseOptions) {
    this.#options = options;
  }

  /**
   * Whether the hosts hold the lease; takes it if it is free, and renews it in time.
   * @param found the lease as the cache has it, and for how many milliseconds nobody changed it
   * @param revision of the cache
   * @throws StatusError
   */
  async hold(found: SeenLease | undefined, revision: bigint, signal: AbortSignal): Promise<boolean> {
    const { client, durationMs, key, log } = this.#options;
    if (this.#isAheadOf(revision)) return true;
    const claim = { holderIdentity: together, leaseDurationSeconds: Math.ceil(durationMs / 1000) };
    if (found === undefined) return this.#take(() => this.#create(claim, signal));
    const { lease, unchangedMs } = found;
    const { holderIdentity = '', leaseTransitions = 0 } = lease.spec ?? {};
    if (holderIdentity === together) {
      this.#isWaiting = false;
      if (unchangedMs < durationMs / 3 || (await this.#take(() => this.#update(lease, claim, signal)))) return true;
      // Another host renewed it, or it is no longer theirs.
      return (await client.get(leaseType, key, { signal })).spec?.holderIdentity === together;
    }
    if (holderIdentity === '' || isExpired(found))
      return this.#take(() => this.#update(lease, { ...claim, leaseTransitions: leaseTransitions + 1 }, signal));
    if (!this.#isWaiting)
      log.info({ lease: key.name, holder: holderIdentity }, 'a process of an earlier release leads alone; waiting');
    this.#isWaiting = true;
    return false;
  }

  /** Gives it back, for the last host that leaves. @throws StatusError */
  async leave(found: Stored<Lease> | undefined, revision: bigint, signal: AbortSignal): Promise<void> {
    const lease = this.#isAheadOf(revision) ? this.#written : found;
    if (lease?.spec?.holderIdentity !== together) return;
    await this.#take(() => this.#update(lease, { holderIdentity: '', leaseDurationSeconds: 1 }, signal));
  }

  /** Whether the cache does not show yet what this process wrote. */
  #isAheadOf(revision: bigint): boolean {
    return this.#written !== undefined && revision < BigInt(this.#written.metadata.resourceVersion);
  }

  /** False if another process was faster. */
  async #take(write: () => Promise<Stored<Lease>>): Promise<boolean> {
    this.#written = await unlessRaced(write());
    return this.#written !== undefined;
  }

  #create(claim: LeaseSpec, signal: AbortSignal): Promise<Stored<Lease>> {
    const { client, key } = this.#options;
    const lease = newLease(key, { ...claim, leaseTransitions: 0, renewTime: microTime() });
    return client.create(leaseType, lease, { signal });
  }

  #update(lease: Stored<Lease>, spec: LeaseSpec, signal: AbortSignal): Promise<Stored<Lease>> {
    const renewed = { ...lease, spec: { ...lease.spec, ...spec, renewTime: microTime() } };
    return this.#options.client.update(leaseType, renewed, { signal });
  }
}
