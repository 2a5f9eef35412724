import type { History, Operation, OperationId } from '../../history.ts';
import type { CommitTimes } from '../log/commit-times.ts';
import type { Narrator } from './narrator.ts';
import type { ReplayedLog } from '../log/replayed-log.ts';
import type { Statistics } from './statistics.ts';
import type { Violations } from './violation.ts';

/** State that the rules share while they check one history. */
export interface Examination {
  history: History;
  log: ReplayedLog;
  times: CommitTimes;
  /** Operations that others refer to. */
  named: Map<string, Operation>;
  violations: Violations;
  statistics: Statistics;
  narrator: Narrator;
}

export function idText({ client, seq }: OperationId): string {
  return `${client} ${seq}`;
}
