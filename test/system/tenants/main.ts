/**
 * One tenant against the others, with permitted requests: it attacks an API server in a control group with the chart's
 * limit, it floods with one kind of request after another, and it exceeds its quota and its throttle. The server must
 * survive, and another tenant must not be affected: `make tenants`. Exits 1 otherwise.
 */
import { PostgresProcess } from '../harness/process/postgres-process.ts';
import { CheckReport } from '../harness/run/check-report.ts';
import { print, runMain, type Outcome } from '../harness/run/run-main.ts';
import { runAttack } from './attack-run.ts';
import { runFloods } from './flood-run.ts';
import { runLimits } from './limits-run.ts';
import { parseTenantsOptions, usage, type PartName, type TenantsOptions } from './tenants-options.ts';
import { prepareTokens, type TenantsRun } from './tenants-run.ts';

const parts: Readonly<Record<PartName, (tenants: TenantsRun) => Promise<void>>> = {
  attack: runAttack,
  floods: runFloods,
  limits: runLimits,
};

async function run(options: TenantsOptions): Promise<Outcome> {
  const report = new CheckReport(print);
  for (const part of options.parts) {
    report.say(`--- ${part}`);
    await runPart(part, options, report).catch((error: unknown) =>
      report.check(`${part} finishes`, false, error instanceof Error ? (error.stack ?? error.message) : String(error)),
    );
  }
  const { passed, violations } = report;
  const failures = violations.map((violation) => `tenants: ${violation}`);
  print(`tenants: ${passed} held, ${failures.length} FAILED`);
  return { passed, failures };
}

/** On a database of its own: what one part leaves behind would be in the lists of the next. */
async function runPart(part: PartName, options: TenantsOptions, report: CheckReport): Promise<void> {
  const database = await PostgresProcess.start({
    parent: options.dataParent,
    settings: { max_connections: '300' },
  });
  try {
    await parts[part]({ options, database, tokens: await prepareTokens(database), report });
  } finally {
    await database.stop();
  }
}

await runMain({ usage, parse: parseTenantsOptions, run });
