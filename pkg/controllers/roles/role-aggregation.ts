import { clusterRoleType, type ClusterRole } from '#pkg/apis/index';
import { writeChanges, type ControllerDefinition, type ReconcileContext } from '#pkg/runtime/index';
import { Failures } from '../parallel/failures.ts';
import { inParallel } from '../parallel/in-parallel.ts';
import { aggregatedRules } from './aggregated-rules.ts';

const parallelWrites = 8;
/** Any role may aggregate any other: one reconcile handles all of them, however many changed. */
const all = { namespace: '', name: 'aggregated' };

/**
 * Writes the aggregated rules into ClusterRoles, for users to read; the authorizer computes them itself. Source:
 * k8s.io/kubernetes/pkg/controller/clusterroleaggregation.
 */
export function roleAggregation(): ControllerDefinition {
  return {
    name: 'role-aggregation',
    watches: [{ type: clusterRoleType, selection: {}, handler: () => [all], predicates: [] }],
    indexes: [],
    tuning: {},
    begin: () => ({ sources: [], reconcile: (_request, context) => writeRules(context) }),
  };
}

async function writeRules({ client, lister }: Pick<ReconcileContext, 'client' | 'lister'>): Promise<void> {
  const roles = new Map(
    lister(clusterRoleType)
      .list()
      .map((role) => [role.metadata.name, role]),
  );
  const failures = new Failures();
  await inParallel(aggregatedRules(Array.from(roles.values())), parallelWrites, ([name, rules]) =>
    failures.attempt(async () => {
      const role = roles.get(name)!;
      const wanted: ClusterRole = { ...role, rules };
      await writeChanges(client, clusterRoleType, role, wanted);
    }),
  );
  failures.rethrow();
}
