/**
 * Adds up what CI ran: `node hack/print-summary.mjs <report.json> ...`; prints `N passed, N failed`, exits 1 on any failure.
 * A report is jest's, or `{"passed": 6, "failed": 0}`. One that is missing or broken is one failure: whatever was to write it did not come to its end.
 */
import { readFileSync } from 'node:fs';

const parts = process.argv.slice(2).map(read);
const total = { passed: sum('passed'), failed: sum('failed') };
process.stdout.write(`${total.passed} passed, ${total.failed} failed\n`);
process.exitCode = total.failed === 0 && parts.length > 0 ? 0 : 1;

function sum(field) {
  return parts.reduce((all, part) => all + part[field], 0);
}

function read(file) {
  try {
    const report = JSON.parse(readFileSync(file, 'utf8'));
    const part = 'numPassedTests' in report ? countTests(report) : report;
    if (Number.isSafeInteger(part.passed) && Number.isSafeInteger(part.failed)) return part;
  } catch {
    // Counted below.
  }
  return { passed: 0, failed: 1 };
}

/** A suite that cannot even be loaded has no tests in the count. */
function countTests({ numPassedTests, numFailedTests, numRuntimeErrorTestSuites, success }) {
  const failed = numFailedTests + numRuntimeErrorTestSuites;
  return { passed: numPassedTests, failed: failed === 0 && !success ? 1 : failed };
}
