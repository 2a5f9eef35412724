import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { text, wholeNumber } from '../harness/run/option-values.ts';
import { runMain, type Outcome } from '../harness/run/run-main.ts';
import { bodyCases } from './cases/bodies.ts';
import { definitionCases } from './cases/definitions.ts';
import { objectCases } from './cases/objects.ts';
import { patchCases } from './cases/patches.ts';
import { readCases } from './cases/reads.ts';
import { realDefinitionCases } from './cases/real-definitions.ts';
import { measureModels } from './cases/models.ts';
import { runCase, type HoldCase, type HoldRow } from './hold-case.ts';
import { processorSlowness } from '../../../hack/jest/processor-slowness.ts';
import { MeasuredServer } from './measured-server.ts';

const usage = `Usage: make holds ARGS='...'
  --only=TEXT     cases whose name contains it
  --every=1       one of so many of the cases, always the same ones
  --models=1000   models in the last part; 0 leaves it out
  --data=FOLDER   where the database lies (default: the temporary folder)
  --summary=FILE  write how many cases passed and failed, for CI
`;

interface HoldsOptions {
  only: string;
  every: number;
  models: number;
  parent: string;
  summaryFile: string | undefined;
}

function parse(args: string[]): HoldsOptions {
  const { values } = parseArgs({ args, options: { only: text, every: text, models: text, data: text, summary: text } });
  return {
    only: values.only ?? '',
    every: wholeNumber('every', values.every ?? '1', 1),
    models: wholeNumber('models', values.models ?? '1000'),
    parent: values.data ?? tmpdir(),
    summaryFile: values.summary,
  };
}

/**
 * Prints how long each of the worst inputs blocks the event loop; exceeding the limit is a failure. Limits are scaled
 * to the processor.
 */
async function run({ only, every, models, parent }: HoldsOptions): Promise<Outcome> {
  const wanted = ({ name }: HoldCase): boolean => name.includes(only);
  const rows: HoldRow[] = [];
  const cases = [bodyCases(), realDefinitionCases(), definitionCases(), objectCases(), patchCases(), readCases()]
    .flat()
    .filter(wanted)
    .filter((_, index) => index % every === 0);
  // Measured before and after each case, because the speed of a virtual machine varies.
  let slowness = processorSlowness();
  process.stdout.write(
    `limits are ${slowness.toFixed(2)} times those of the processor they were set on, and follow it\n${line(['case', 'bytes', 'status', 'CPU ms', 'wall ms', 'limit'])}\n`,
  );
  const judged = (measured: HoldRow): HoldRow => {
    const before = slowness;
    slowness = processorSlowness();
    return { ...measured, limitMs: Math.round(measured.limitMs * Math.max(before, slowness)) };
  };
  const report = (row: HoldRow): void => {
    rows.push(row);
    process.stdout.write(
      `${line([row.name, String(row.size), row.statuses, row.cpuMs.toFixed(0), row.wallMs.toFixed(0), isLate(row) ? `${row.limitMs} OVER` : String(row.limitMs)])}\n`,
    );
  };
  const server = await MeasuredServer.start(parent);
  try {
    for (const { prepare, ...each } of cases) {
      let row = judged(await runCase(server, prepare === undefined ? each : { ...each, prepare }));
      // Repeated, because the machine may have caused it.
      for (let again = 1; isLate(row) && again <= 2; again += 1)
        row = judged(await runCase(server, { ...each, requests: (round) => each.requests(100 * again + round) }));
      report(row);
    }
  } finally {
    await server.stop();
  }
  if (models > 0)
    await measureModels({
      parent,
      models,
      report: (measured) => report(judged(measured)),
      print: (fact) => process.stdout.write(`${fact}\n`),
    });
  const failures = rows
    .filter((row) => isLate(row) || /\b5\d\d\b/.test(row.statuses))
    .map(({ name, cpuMs, limitMs, statuses }) => `holds: ${name}: ${cpuMs.toFixed(0)} ms of ${limitMs}, ${statuses}`);
  return { passed: rows.length - failures.length, failures };
}

function isLate({ cpuMs, limitMs }: HoldRow): boolean {
  return cpuMs > limitMs;
}

function line([name, ...others]: string[]): string {
  return `${name!.padEnd(64)} ${others.map((other) => other.padStart(9)).join(' ')}`;
}

await runMain({ usage, parse, run });
