/**
 * Provokes the incidents of the runbook on real servers, waits for the alert of each, looks where its page leads, takes
 * its steps, and waits for the alert to end: `make incidents`. See docs/reliability.md.
 */
import { readRunbook } from '../harness/alerts/runbook.ts';
import { describeError } from '../harness/run/describe-error.ts';
import { InterruptedError, print, runMain, untilInterrupted, type Outcome } from '../harness/run/run-main.ts';
import { table } from '../harness/run/table.ts';
import { nameOf } from './incident.ts';
import { parseIncidentsOptions, usage, type IncidentsOptions } from './incidents-options.ts';
import { runIncident, type IncidentResult } from './run-incident.ts';
import { IncidentSite } from './site/incident-site.ts';
import { hasPrometheus } from './site/prometheus-process.ts';

async function run({ incidents, isList, isKept, dataParent }: IncidentsOptions): Promise<Outcome | undefined> {
  if (isList) {
    for (const incident of incidents) print(`${nameOf(incident).padEnd(42)} ${incident.intent}`);
    return undefined;
  }
  if (!hasPrometheus) {
    const skipped = "Debian's package prometheus is not installed";
    process.stderr.write(`WARNING: make incidents is SKIPPED: ${skipped}.\n`);
    if (process.env['CI'] === 'true') return { passed: 0, failures: [`incidents: ${skipped}`] };
    return { passed: 0, failures: [], skipped };
  }
  const { alerts } = await readRunbook();
  const results: IncidentResult[] = [];
  for (const incident of incidents) {
    const name = nameOf(incident);
    const section = alerts.find(({ heading }) => heading === incident.alert)!;
    const result = await untilInterrupted(runIncident(incident, { parent: dataParent, section, isKept })).catch(
      async (error: unknown): Promise<IncidentResult> => {
        await IncidentSite.removeAll();
        if (error instanceof InterruptedError) throw error;
        return { name, failures: [`${name}: ${describeError(error)}`], others: [] };
      },
    );
    results.push(result);
    print(lineOf(result));
  }
  print(`\n${tableOf(results)}\n`);
  const failures = results.flatMap((result) => result.failures);
  const skipped = results.filter((result) => result.skipped !== undefined);
  for (const failure of failures) print(`FAILED ${failure}`);
  const passed = results.length - skipped.length - results.filter((result) => result.failures.length > 0).length;
  print(`incidents: ${passed} fired and ended, ${skipped.length} not tried, ${failures.length} FAILED`);
  return { passed, failures: failures.map((failure) => `incidents: ${failure}`) };
}

function lineOf({ name, skipped, failures, firedAfter, endedAfter }: IncidentResult): string {
  if (skipped !== undefined) return `${name}: NOT TRIED, ${skipped}`;
  if (failures.length > 0) return `FAILED ${failures.join('; ')}`;
  return `${name}: fired after ${seconds(firedAfter)}, ended after ${seconds(endedAfter)}`;
}

function tableOf(results: readonly IncidentResult[]): string {
  const rows = results.map(({ name, firedAfter, endedAfter, others, skipped, failures }) => [
    name,
    skipped === undefined ? seconds(firedAfter) : 'not tried',
    seconds(endedAfter),
    failures.length > 0 ? 'FAILED' : others.join(', '),
  ]);
  return table([['incident', 'fired after', 'ended after', 'fired with it'], ...rows]);
}

function seconds(value: number | undefined): string {
  return value === undefined ? '-' : `${value.toFixed(1)} s`;
}

await runMain({
  usage,
  parse: parseIncidentsOptions,
  needsLinux: 'The incidents are made with signals, /proc and tmpfs, and need Linux.',
  run,
});
