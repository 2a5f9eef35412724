/**
 * Summarizes a CI run: `node hack/print-summary.mjs <report.json> ...`; repeats the failures at the end of the output,
 * then prints `N passed, N failed`, and exits 1 on any failure. A report is jest's, or `{"passed": 6, "failed": 0,
 * "failures": ["..."]}`. A missing or broken report is one failure, because its writer did not finish.
 */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';

/** Line limits for one failure and for all. */
const shownLines = 12;
const shownFailures = 30;

const parts = process.argv.slice(2).map(read);
const total = { passed: sum('passed'), failed: sum('failed') };
for (const failure of parts.flatMap(({ failures }) => failures).slice(0, shownFailures))
  process.stdout.write(`FAILED ${failure.trim().split('\n').slice(0, shownLines).join('\n  ')}\n`);
process.stdout.write(`${total.passed} passed, ${total.failed} failed\n`);
process.exitCode = total.failed === 0 && parts.length > 0 ? 0 : 1;

function sum(field) {
  return parts.reduce((all, part) => all + part[field], 0);
}

function read(file) {
  try {
    const report = JSON.parse(readFileSync(file, 'utf8'));
    const part = 'numPassedTests' in report ? countTests(report) : report;
    const { passed, failed, failures = failed > 0 ? [`${basename(file, '.json')}: ${failed}`] : [] } = part;
    if (Number.isSafeInteger(passed) && Number.isSafeInteger(failed)) return { passed, failed, failures };
  } catch {
    // Reported below.
  }
  return { passed: 0, failed: 1, failures: [`${basename(file, '.json')}: no report was written`] };
}

/** A suite that fails to load has no tests in the count. */
function countTests({ numPassedTests, numFailedTests, numRuntimeErrorTestSuites, success, testResults = [] }) {
  const failed = numFailedTests + numRuntimeErrorTestSuites;
  const failures = testResults.flatMap(({ name, message = '', assertionResults = [] }) => {
    const tests = assertionResults
      .filter(({ status }) => status === 'failed')
      .map(
        ({ fullName, failureMessages = [] }) => `${basename(name)}: ${fullName}\n${plain(failureMessages[0] ?? '')}`,
      );
    return tests.length > 0 || message === '' ? tests : [`${basename(name)}\n${plain(message)}`];
  });
  return {
    passed: numPassedTests,
    failed: failed === 0 && !success ? 1 : failed,
    ...(failures.length > 0 ? { failures } : {}),
  };
}

/** Without the colours. */
function plain(text) {
  // oxlint-disable-next-line no-control-regex -- an escape sequence begins with a control character
  return text.replaceAll(/\u001B\[[0-9;]*m/g, '');
}
