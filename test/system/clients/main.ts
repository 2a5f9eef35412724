/**
 * Programs that others wrote for Kubernetes work against svc: `make clients`. Each case has a server of its own. See
 * docs/contributing/how-to.md.
 */
import { InterruptedError, print, runMain, untilInterrupted, type Outcome } from '../harness/run/run-main.ts';
import { describeError } from '../harness/run/describe-error.ts';
import type { ClientCase } from './client-case.ts';
import { clientNode } from './client-node/client-node.ts';
import { parseClientsOptions, usage, type CaseName, type ClientsOptions } from './clients-options.ts';
import { helm } from './helm/helm.ts';
import { kubectl } from './kubectl/kubectl.ts';
import { operators } from './operators/operators.ts';
import { python } from './python/python.ts';
import { ClientSite } from './site/client-site.ts';

const cases: Record<CaseName, ClientCase> = { helm, kubectl, python, 'client-node': clientNode, operators };

async function run(options: ClientsOptions): Promise<Outcome> {
  const failures: string[] = [];
  const skipped: string[] = [];
  let passed = 0;
  print(`seed ${options.seed}; repeat with make clients ARGS='--seed=${options.seed} --kills=${options.kills}'`);
  for (const name of options.only) {
    const missing = await cases[name].missing(options);
    if (missing !== undefined) {
      skipped.push(`${name}: ${missing}`);
      process.stderr.write(`WARNING: ${name} of make clients is SKIPPED: ${missing}\n`);
      continue;
    }
    const began = performance.now();
    const result = await runCase(name, options);
    passed += result.passed;
    failures.push(...result.violations.map((violation) => `clients, ${name}: ${violation}`));
    const outcome = result.violations.length === 0 ? 'passed' : 'FAILED';
    print(`${name}: ${outcome}, ${result.passed} checks held, ${Math.round((performance.now() - began) / 1000)} s`);
  }
  for (const failure of failures) print(`FAILED ${failure.slice(0, 1000)}`);
  for (const reason of skipped) print(`NOT TRIED ${reason}`);
  print(`clients: ${passed} checks held, ${failures.length} did not, ${skipped.length} cases not tried`);
  return { passed, failures, ...(passed === 0 && failures.length === 0 ? { skipped: skipped.join('; ') } : {}) };
}

async function runCase(name: CaseName, options: ClientsOptions): Promise<{ passed: number; violations: string[] }> {
  const site = await ClientSite.start(options.dataParent, print);
  const { report } = site;
  let isKept = options.isKept;
  try {
    await untilInterrupted(cases[name].run(site, options));
  } catch (error) {
    if (error instanceof InterruptedError) throw error;
    report.check(`the case ${name} finishes`, false, describeError(error));
  } finally {
    isKept ||= report.violations.length > 0;
    await site.stop(isKept);
  }
  if (isKept) print(`logs and data of ${name} are in ${site.folder}`);
  return report;
}

await runMain({ usage, parse: parseClientsOptions, run });
