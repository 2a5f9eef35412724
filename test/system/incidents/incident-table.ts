import { apiErrors } from './cases/api-errors.ts';
import { apiSlow } from './cases/api-slow.ts';
import { certificateExpires } from './cases/certificate-expires.ts';
import { controllers } from './cases/controllers.ts';
import { databaseDisk } from './cases/database-disk.ts';
import { databaseLost } from './cases/database-lost.ts';
import { databaseShort } from './cases/database-short.ts';
import { databaseSlow } from './cases/database-slow.ts';
import { databaseTakesNoWrites } from './cases/database-takes-no-writes.ts';
import { down } from './cases/down.ts';
import { eventLoopHeld } from './cases/event-loop-held.ts';
import { historyOffLimits } from './cases/history-off-limits.ts';
import { loginsFail } from './cases/logins-fail.ts';
import { notReady } from './cases/not-ready.ts';
import { pluginFailed } from './cases/plugin-failed.ts';
import { requestsRefused } from './cases/requests-refused.ts';
import { versionsMixed } from './cases/versions-mixed.ts';
import { watchersCutOff } from './cases/watchers-cut-off.ts';
import type { Incident } from './incident.ts';

/** In the order of the runbook. */
export const incidents: readonly Incident[] = [
  ...apiErrors,
  ...apiSlow,
  ...down,
  ...notReady,
  ...watchersCutOff,
  ...requestsRefused,
  ...databaseLost,
  ...databaseDisk,
  ...databaseTakesNoWrites,
  ...databaseShort,
  ...databaseSlow,
  ...historyOffLimits,
  ...controllers,
  ...pluginFailed,
  ...loginsFail,
  ...certificateExpires,
  ...versionsMixed,
  ...eventLoopHeld,
];

/** Names of incidents for CI. */
export const sampleOfIncidents: readonly string[] = ['SvcDown:gone', 'SvcDatabaseTakesNoWrites:read_only'];

/** Rules whose cause no incident makes, and why; their expressions are tried by promtool alone. */
export const untriedRules: Readonly<Record<string, string>> = {
  'SvcApiErrors:warning': 'it fires with the critical one, by longer ranges of the same ratio',
  'SvcWatchEventsLate:warning': 'a real event loop that delays events by a second fires SvcEventLoopHeld first',
  'SvcWatchEventsLate:critical': 'a reader of the log that stands still is replaced within its own timeout',
  'SvcDatabaseDiskFull:failing': 'a disk that fails cannot be made without a device mapper',
  'SvcDatabaseTakesNoWrites:transaction_ids': 'the embedded PostgreSQL has no pg_resetwal',
  'SvcDatabaseShort:memory': 'PostgreSQL without memory takes the memory of the whole machine',
  'SvcDatabaseConflicts:warning':
    'serializable sessions under eight writers did not fire it in the short time; why is not known',
  'SvcDatabaseSlow:waits':
    'forty readers of a table that was locked for most of the time did not fire it; why is not known',
  'SvcHistoryOffLimits:stuck': 'history is compacted each 30 s, so that ten rounds that fail take minutes',
  'SvcControllersBehind:errors':
    'a reconcile that fails is tried ever later: a trigger that refuses deletions made four fail in 200 s, too few when time is short',
  'SvcControllersBehind:queue': 'no controller waits 10 s for long without errors of its own',
  'SvcAuditIncomplete:warning': 'a full disk of the file dropped no event in 200 s; why is not known',
  'SvcMemoryNearLimit:warning': 'watches did not fill a heap of 110 MiB within minutes',
};
