import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import { role, type IncidentSite } from '../site/incident-site.ts';

/** Ends the session with the oldest transaction that is not svc's, found as the runbook says. `where` is more SQL. */
export async function endOldest(site: IncidentSite, where = 'true'): Promise<void> {
  const sessions = `FROM pg_stat_activity WHERE usename <> '${role}' AND pid <> pg_backend_pid() AND ${where}`;
  let oldest: { pid: number } | undefined;
  await retryUntilTrue(
    async () => {
      [oldest] = await site.sql<{ pid: number }>(`SELECT pid ${sessions} ORDER BY xact_start NULLS LAST LIMIT 1`);
      return oldest !== undefined;
    },
    { what: "pg_stat_activity shows a session that is not svc's", timeoutMs: 10_000 },
  );
  await site.sql(`SELECT pg_terminate_backend(${oldest!.pid})`);
}
