import type { ApiObject, ResourceType } from '#pkg/apimachinery/index';

/** Who holds something, and until when. Source: coordination.k8s.io/v1 Lease. */
export interface LeaseSpec {
  holderIdentity?: string;
  /** After `renewTime`, how long the holder may be relied on. */
  leaseDurationSeconds?: number;
  /** RFC 3339 with microseconds; so is `renewTime`. */
  acquireTime?: string;
  renewTime?: string;
  /** How often it has changed hands. */
  leaseTransitions?: number;
}

/** No lease is believed to last longer, so that none that somebody wrote by mistake or in malice holds for ever. */
export const longestLeaseSeconds = 600;

export type Lease = ApiObject<LeaseSpec>;

export const leaseType: ResourceType<Lease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
  hasStatusSubresource: false,
};
