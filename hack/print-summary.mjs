/**
 * Adds up what CI ran: `node hack/print-summary.mjs <verify.json> <jest.json>`; prints `N passed, N failed`, exits 1 on any failure.
 * A report that is missing or broken is one failure: whatever was to write it did not come to its end.
 */
import { readFileSync } from 'node:fs';

const [verifyFile, jestFile] = process.argv.slice(2);
const parts = [
  read(verifyFile, ({ passed, failed }) => ({ passed, failed })),
  // A suite that cannot even be loaded has no tests in the count.
  read(jestFile, ({ numPassedTests, numFailedTests, numRuntimeErrorTestSuites, success }) => {
    const failed = numFailedTests + numRuntimeErrorTestSuites;
    return { passed: numPassedTests, failed: failed === 0 && !success ? 1 : failed };
  }),
];
const passed = parts.reduce((sum, part) => sum + part.passed, 0);
const failed = parts.reduce((sum, part) => sum + part.failed, 0);
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;

function read(file, count) {
  try {
    const part = count(JSON.parse(readFileSync(file, 'utf8')));
    if (Number.isSafeInteger(part.passed) && Number.isSafeInteger(part.failed)) return part;
  } catch {
    // Counted below.
  }
  return { passed: 0, failed: 1 };
}
