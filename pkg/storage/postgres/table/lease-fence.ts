import type { Fence } from '#pkg/apimachinery/index';
import { StorageError } from '../../storage-error.ts';
import type { Table } from './table.ts';

/** The model whose objects fences name. Besides namespaces, the only model that the store knows by name. */
export const leaseResource = { group: 'coordination.k8s.io', resource: 'leases' };

export function isLeaseTable({ resource }: Pick<Table, 'resource'>): boolean {
  return resource.group === leaseResource.group && resource.resource === leaseResource.resource;
}

/**
 * A write of a lease takes this key, and each write fenced by it shares it, so that the two never go in one batch: in
 * one batch the fence would be checked before either is written, and the fenced write could get the later revision.
 */
export function fenceKey(namespace: string, lease: string): string {
  return `fence/${namespace}/${lease}`;
}

/** In the order of `leaseHeld`'s parameters. */
export function fenceValues({
  namespace,
  lease,
  transitions,
}: Fence): [namespace: string, lease: string, transitions: number] {
  return [namespace, lease, transitions];
}

/**
 * SQL function: is the lease held with this number of transitions? VOLATILE and in plpgsql, so that it is never
 * inlined: called after the revision lock was acquired, it sees earlier commits, not the statement's older snapshot.
 * Every change of the lease commits under the same lock: if the function returns true, the lease changes only after the
 * fenced write. An absent number counts as 0, as new leaders assume.
 */
export function leaseHeld(table: string): string {
  return `CREATE OR REPLACE FUNCTION platform.lease_held(wanted_namespace text, wanted text, transitions int) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
    DECLARE spec jsonb;
    BEGIN
      SELECT m.body::jsonb -> 'spec' INTO spec FROM ${table} m WHERE m.namespace = wanted_namespace AND m.name = wanted;
      RETURN coalesce(spec ->> 'holderIdentity', '') <> '' AND coalesce(spec ->> 'leaseTransitions', '0') = transitions::text;
    END $$`;
}

export function newFenceLost({ namespace, lease, transitions }: Fence): StorageError {
  return new StorageError(
    'FenceLost',
    `the lease ${namespace}/${lease} is no longer held after ${transitions} transitions: another leads, or nobody does`,
  );
}
