import type { ApiObject, ObjectKey, ObjectMeta, ResourceType, Stored } from '#pkg/apimachinery/index';

/** The holder of a resource and the expiry. Source: coordination.k8s.io/v1 Lease. */
export interface LeaseSpec {
  holderIdentity?: string;
  /** How long after `renewTime` the holder counts as alive. */
  leaseDurationSeconds?: number;
  /** RFC 3339 with microseconds; so is `renewTime`. */
  acquireTime?: string;
  renewTime?: string;
  /** How often the holder has changed. */
  leaseTransitions?: number;
}

/** Upper bound of any lease's duration, so that a wrong or malicious value does not hold it for ever. */
export const maxLeaseSeconds = 600;

export type Lease = ApiObject<LeaseSpec>;

/** A lease, and for how many milliseconds this process has not seen it change. */
export interface SeenLease {
  lease: Stored<Lease>;
  unchangedMs: number;
}

/** Whether nobody has renewed it for its duration, `maxLeaseSeconds` at most. */
export function isExpired({ lease, unchangedMs }: SeenLease): boolean {
  return unchangedMs >= Math.min(lease.spec?.leaseDurationSeconds ?? 0, maxLeaseSeconds) * 1000;
}

export const leaseType: ResourceType<Lease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
  hasStatusSubresource: false,
};

export function newLease(key: ObjectKey, spec: LeaseSpec, metadata: Partial<ObjectMeta> = {}): Lease {
  return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { ...metadata, ...key }, spec };
}

/** Now, as Kubernetes writes `metav1.MicroTime`. */
export function microTime(): string {
  return new Date().toISOString().replace('Z', '000Z');
}
