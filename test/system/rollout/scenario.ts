import { CheckReport } from '../harness/check-report.ts';
import type { Cluster } from './cluster.ts';
import type { Release } from './deployment.ts';
import type { Credentials } from './render-release.ts';
import type { Tally, Traffic } from './traffic.ts';

/** Everything a scenario can get hold of. */
export interface Stage {
  cluster: Cluster;
  traffic: Traffic;
  credentials: Credentials;
  /** What is installed at the beginning, and what it is upgraded to. */
  releases: { from: Release; to: Release };
  isQuick: boolean;
  report: RolloutReport;
}

/** Also prints what clients saw. */
export class RolloutReport extends CheckReport {
  tally(name: string, { answered, failures, seconds }: Tally): void {
    this.say(
      `  ${name.padEnd(44)} ${String(answered).padStart(7)} answered, ${String(failures.length).padStart(4)} failed, in ${seconds.toFixed(1)} s`,
    );
  }
}

const shown = 5;

/** The first of many, for a message. */
export function someOf(failures: Tally['failures']): string {
  const texts = failures.slice(0, shown).map(({ what }) => what.slice(0, 300));
  return texts.join('; ') + (failures.length > shown ? `; and ${failures.length - shown} more` : '');
}
