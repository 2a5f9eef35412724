import { CheckReport } from '../harness/run/check-report.ts';
import type { Cluster } from './cluster.ts';
import type { Release } from './deployment.ts';
import type { Credentials } from './render-release.ts';
import type { Pod } from './pod.ts';
import type { Tally, Traffic } from './traffic.ts';

/** Everything that a scenario can use. */
export interface ScenarioContext {
  cluster: Cluster;
  traffic: Traffic;
  credentials: Credentials;
  /** The first release, and the one to upgrade to. */
  releases: { from: Release; to: Release };
  isQuick: boolean;
  report: RolloutReport;
}

/** Also prints the clients' results. */
export class RolloutReport extends CheckReport {
  tally(name: string, { answered, failures, seconds }: Tally): void {
    this.say(
      `  ${name.padEnd(44)} ${String(answered).padStart(7)} answered, ${String(failures.length).padStart(4)} failed, in ${seconds.toFixed(1)} s`,
    );
  }

  /** Checks that an outage in which nothing was lost ended no process, and made no watch start again. */
  checkUndisturbed({ pods, endsBefore, tally }: Outage): void {
    for (const pod of pods)
      for (const { code, signal } of pod.ends.slice(endsBefore.get(pod) ?? 0))
        this.check(`${pod.name} goes on`, false, `it ended with ${signal ?? `code ${code}`}`);
    const expired = tally.failures.filter(({ what }) => what.includes('expired'));
    this.check('no watch starts again', expired.length === 0, someOf(expired));
  }
}

export interface Outage {
  pods: readonly Pod[];
  /** How often each had ended before. */
  endsBefore: ReadonlyMap<Pod, number>;
  tally: Tally;
}

const shown = 5;

/** The first few, for a message. */
export function someOf(failures: Tally['failures']): string {
  const texts = failures.slice(0, shown).map(({ what }) => what.slice(0, 300));
  return texts.join('; ') + (failures.length > shown ? `; and ${failures.length - shown} more` : '');
}
